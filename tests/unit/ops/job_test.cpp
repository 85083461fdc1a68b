#include "ops/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "ops/program_builder.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;
using ::testing::Property;

/// Two ranks that share a program: a kernel slot, a collective, an event and a flag between two threads.
struct Example {
  Program program;
  Job job;

  Example() {
    HostOverheads host;
    host.runtime_calls = {{RuntimeCall::LaunchKernel, 4_us}};
    ProgramBuilder rank{host};
    const StreamId compute = rank.stream("compute");
    const GroupId world = rank.group("world");
    rank.begin_range("step");
    rank.launch_per_rank(compute);
    rank.collective(compute, {.group = world, .size = 8_B, .send_bytes = {}});
    rank.record(compute, rank.event("done"));
    rank.post(rank.flag("go"));
    rank.on(rank.thread("autograd"));
    rank.await(rank.flag("go"));
    rank.wait_event(rank.event("done"));
    rank.on(rank.thread("main"));
    rank.end_range();
    const std::uint32_t kernel = rank.intern(KernelCall{"k", DataType::FP32, Timed{1_us}});
    program = std::move(rank).build();
    job.groups = {{"world", {0, 1}}};
    job.ranks.assign(
        2, RankAssignment{
               .gpu = 0, .program = 0, .groups = {0}, .kernel_slots = {kernel}, .collective_slots = {}});
  }

  std::vector<Instruction>& main() { return program.threads[0].instructions; }
  std::vector<Instruction>& autograd() { return program.threads[1].instructions; }

  Job finished() {
    job.programs = {std::make_shared<const Program>(program)};
    return job;
  }
};

void expect_refused(const std::function<void(Example&)>& damage, const std::string& message) {
  Example example;
  damage(example);
  const Job job = example.finished();
  EXPECT_THAT([&] { check(job); }, ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr(message)));
}

TEST(Job, AWholeOneIsAccepted) {
  EXPECT_NO_THROW(check(Example{}.finished()));
}

TEST(Job, StepsAndRanks) {
  expect_refused([](Example& e) { e.job.steps = 0; }, "at least one step");
  expect_refused([](Example& e) { e.job.ranks[1].program = 3; },
                 "rank 1: program 3 does not exist (there are 1)");
}

TEST(Job, Groups) {
  expect_refused([](Example& e) { e.job.groups[0].ranks = {0, 0}; }, "group 'world' lists rank 0 twice");
  expect_refused([](Example& e) { e.job.groups[0].ranks = {0, 2}; }, "group 'world': rank 2 does not exist");
  expect_refused([](Example& e) { e.job.groups[0].ranks = {0}; },
                 "rank 1 uses group 'world' but is not a member");
  expect_refused([](Example& e) { e.job.ranks[1].groups = {}; },
                 "rank 1: the program uses 1 groups, the rank names 0");
  expect_refused(
      [](Example& e) {
        e.job.groups.push_back({"unknown", {1}});
      },
      "rank 1 is a member of group 'unknown', but its program does not know the group");
}

TEST(Job, Slots) {
  expect_refused([](Example& e) { e.job.ranks[0].kernel_slots = {}; },
                 "rank 0: the program has 1 kernel slots");
  expect_refused([](Example& e) { e.job.ranks[1].kernel_slots = {9}; }, "rank 1: kernel 9 does not exist");
}

TEST(Job, Collectives) {
  expect_refused([](Example& e) { e.program.collectives[0].send_bytes = {8}; },
                 "rank 0, thread 'main', instruction 2: sends to 1 members, the group has 2");
  expect_refused([](Example& e) { e.program.collectives[0].peer = 2; },
                 "peer 2 is not a position in a group of 2");
  expect_refused([](Example& e) { e.program.collectives[0].group = 1; }, "group 1 does not exist");
}

TEST(Job, IndicesOfInstructions) {
  expect_refused([](Example& e) { e.main()[0].operand = 5; },
                 "program 0 (first used by rank 0): thread 'main', instruction 0: name 5 does not exist");
  expect_refused([](Example& e) { e.main()[1].stream = 4; }, "instruction 1: stream 4 does not exist");
  expect_refused([](Example& e) { e.main()[2].operand = 4; }, "instruction 2: collective 4 does not exist");
  expect_refused([](Example& e) { e.main()[3].operand = 4; }, "instruction 3: event 4 does not exist");
  expect_refused([](Example& e) { e.main()[4].operand = 4; }, "instruction 4: flag 4 does not exist");
  expect_refused([](Example& e) { e.main()[4].per_rank = true; },
                 "only launches and collectives may differ by rank");
  expect_refused([](Example& e) { e.main()[1].lead = -1; }, "host times must be finite and not negative");
}

TEST(Job, Ranges) {
  expect_refused([](Example& e) { e.main().pop_back(); },
                 "thread 'main', instruction 5: 1 ranges are still open");
  expect_refused([](Example& e) { e.main().push_back({.op = Opcode::RangeEnd}); }, "none is open");
}

TEST(Job, EventsAreRecordedBeforeTheyAreAwaited) {
  // The record comes after the post, so nothing orders it before the wait of the other thread.
  expect_refused([](Example& e) { std::swap(e.main()[3], e.main()[4]); },
                 "thread 'autograd', instruction 1: waits for event 0 that was not recorded before");
  expect_refused([](Example& e) { std::swap(e.autograd()[0], e.autograd()[1]); },
                 "thread 'autograd', instruction 0");
}

/// A carried event may be awaited first, by the thread that records it later in the step.
TEST(Job, CarriedEventsComeFromTheStepBefore) {
  const auto wait_first = [](Example& e) {
    e.main().insert(e.main().begin(), Instruction{.op = Opcode::WaitEvent, .operand = 0});
  };
  expect_refused(wait_first, "thread 'main', instruction 0: waits for event 0 that was not recorded before");
  Example carried;
  wait_first(carried);
  carried.program.carried_events = {0};
  EXPECT_NO_THROW(check(carried.finished()));
  expect_refused([](Example& e) { e.program.carried_events = {1}; }, "carried event 1 does not exist");
  expect_refused(
      [](Example& e) {
        e.program.carried_events = {0};
        std::swap(e.autograd()[0], e.autograd()[1]);
      },
      "thread 'autograd', instruction 0");
}

TEST(Job, AwaitedFlagsArePosted) {
  expect_refused([](Example& e) { e.autograd().push_back({.op = Opcode::Await, .operand = 0}); },
                 "thread 'autograd', instruction 2: awaits a flag that is not posted often enough");
}

}  // namespace
}  // namespace lockstep
