#include "traces/chakra/chakra_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/error.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using testing::EtWriter;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

/// A Program's only thread in words.
std::vector<std::string> listing(const Program& program) {
  std::vector<std::string> lines;
  for (const Instruction& i : program.threads.front().instructions) {
    const std::string& stream = program.streams[i.stream];
    switch (i.op) {
      case Opcode::Launch:
        lines.push_back(i.per_rank ? fmt::format("slot {}", i.operand) : program.kernels[i.operand].name);
        break;
      case Opcode::Collective:
        lines.push_back(to_string(program.collectives[i.operand].kind));
        break;
      case Opcode::RecordEvent:
        lines.push_back(fmt::format("record {} on {}", i.operand, stream));
        break;
      case Opcode::StreamWait:
        lines.push_back(fmt::format("{} waits for {}", stream, i.operand));
        break;
      default:
        lines.emplace_back(i.op == Opcode::WaitDevice ? "end" : "?");
    }
  }
  return lines;
}

class ChakraJobTest : public ::testing::Test {
 protected:
  void write(int rank, const EtWriter& trace) { folder_.write(fmt::format("t.{}.et", rank), trace.text()); }

  Job job(int ranks) {
    ChakraSpec spec;
    spec.chakra = "t.%d.et";
    spec.ranks = ranks;
    if (!groups_.empty()) {
      folder_.write("groups.json", groups_);
      spec.groups = "groups.json";
    }
    const std::vector<VertexId> gpus{10, 11, 12, 13};
    Job made = chakra_job(spec, folder_.path(), gpus);
    check(made);
    return made;
  }
  std::vector<std::string> program_of(const EtWriter& trace) {
    write(0, trace);
    return listing(*job(1).programs.front());
  }
  void expect_rejected(int ranks, const std::string& why) {
    EXPECT_THAT([&] { job(ranks); }, ThrowsMessage<InputError>(HasSubstr(why)));
  }

  test::ScratchFolder folder_;
  std::string groups_;
};

TEST_F(ChakraJobTest, AChainNeedsNoEvents) {
  EtWriter chain;
  chain.compute("a.0", {}, 1);
  chain.compute("a.1", {0}, 1);
  chain.compute("b.2", {1}, 1);
  EXPECT_THAT(program_of(chain), ElementsAre("a", "a", "b", "end"));
}

TEST_F(ChakraJobTest, DependenciesBetweenStreamsAreEvents) {
  EtWriter trace;
  trace.compute("forward", {}, 1);
  trace.all_reduce({0}, 8);
  trace.compute("optimizer", {1}, 1);
  EXPECT_THAT(program_of(trace),
              ElementsAre("forward", "record 0 on compute", "communication waits for 0", "all_reduce",
                          "record 0 on communication", "compute waits for 0", "optimizer", "end"));
}

// The later of two collectives implies the earlier, the first of two waits for a node the second.
TEST_F(ChakraJobTest, WhatIsImpliedGetsNoEvent) {
  EtWriter trace;
  trace.compute("a", {}, 1);
  trace.all_reduce({0}, 8);
  trace.all_reduce({0}, 8);
  trace.compute("b", {1, 2}, 1);
  trace.compute("c", {1, 3}, 1);
  EXPECT_THAT(program_of(trace),
              ElementsAre("a", "record 0 on compute", "communication waits for 0", "all_reduce", "all_reduce",
                          "record 0 on communication", "compute waits for 0", "b", "c", "end"));
}

// The first event is still awaited when the second is recorded.
TEST_F(ChakraJobTest, EventsAreUsedAgainOnceNobodyWaits) {
  EtWriter trace;
  trace.compute("a", {}, 1);
  trace.compute("b", {}, 1);
  trace.all_reduce({0}, 8);
  trace.all_reduce({1}, 8);
  trace.compute("c", {}, 1);
  trace.all_reduce({4}, 8);
  EXPECT_THAT(program_of(trace),
              ElementsAre("a", "record 0 on compute", "b", "record 1 on compute", "communication waits for 0",
                          "all_reduce", "communication waits for 1", "all_reduce", "c", "record 1 on compute",
                          "communication waits for 1", "all_reduce", "end"));
}

EtWriter two_kernels(std::uint64_t first, std::uint64_t second) {
  EtWriter trace;
  trace.compute("a", {}, first);
  trace.compute("b", {0}, second);
  return trace;
}

TEST_F(ChakraJobTest, RanksThatDoTheSameShareEverything) {
  for (int rank = 0; rank < 4; ++rank) {
    write(rank, two_kernels(5, 6));
  }
  const Job same = job(4);
  ASSERT_THAT(same.programs, SizeIs(1));
  EXPECT_THAT(listing(*same.programs[0]), ElementsAre("a", "b", "end"));
  EXPECT_EQ(std::get<Timed>(same.programs[0]->kernels[1].work).duration, Seconds{6e-6});
  EXPECT_THAT(same.ranks[3].kernel_slots, IsEmpty());
  EXPECT_EQ(same.ranks[3].gpu, 13U);
}

TEST_F(ChakraJobTest, RanksThatDifferInDurationsShareAProgramWithSlots) {
  write(0, two_kernels(5, 6));
  write(1, two_kernels(5, 7));
  write(2, two_kernels(5, 6));
  const Job mixed = job(3);
  ASSERT_THAT(mixed.programs, SizeIs(1));
  EXPECT_THAT(listing(*mixed.programs[0]), ElementsAre("a", "slot 0", "end"));
  const auto duration = [&](std::size_t rank) {
    const auto& work = mixed.programs[0]->kernels[mixed.ranks[rank].kernel_slots.at(0)].work;
    return std::get<Timed>(work).duration;
  };
  EXPECT_EQ(duration(0), Seconds{6e-6});
  EXPECT_EQ(duration(1), Seconds{7e-6});
  EXPECT_EQ(duration(2), Seconds{6e-6});
}

TEST_F(ChakraJobTest, RanksThatDoOtherThingsHaveOtherPrograms) {
  write(0, two_kernels(5, 6));
  EtWriter one;
  one.compute("a", {}, 5);
  write(1, one);
  write(2, two_kernels(5, 6));
  const Job mixed = job(3);
  EXPECT_THAT(mixed.programs, SizeIs(2));
  EXPECT_EQ(mixed.ranks[2].program, mixed.ranks[0].program);
}

TEST_F(ChakraJobTest, HardLinksAndOneFileForAllAreReadOnce) {
  write(0, two_kernels(5, 6));
  std::filesystem::create_hard_link(folder_ / "t.0.et", folder_ / "t.1.et");
  EXPECT_THAT(job(2).programs, SizeIs(1));
  ChakraSpec spec;
  spec.chakra = "t.0.et";
  const std::vector<VertexId> gpus{10, 11, 12};
  const Job all = chakra_job(spec, folder_.path(), gpus);
  EXPECT_THAT(all.programs, SizeIs(1));
  EXPECT_THAT(all.ranks, SizeIs(3));
}

TEST_F(ChakraJobTest, GroupsComeFromTheirFile) {
  groups_ = R"({"1": [0, 1], "2": [2, 3]})";
  for (int rank = 0; rank < 4; ++rank) {
    EtWriter trace;
    trace.collective(2, {}, 100, rank < 2 ? "1" : "2");
    trace.all_reduce({0}, 8);
    write(rank, trace);
  }
  const Job grouped = job(4);
  EXPECT_THAT(grouped.programs, SizeIs(1)) << "names of groups alone make no other program";
  EXPECT_THAT(grouped.groups[grouped.ranks[3].groups[0]].ranks, ElementsAre(2U, 3U));
  EXPECT_THAT(grouped.groups[grouped.ranks[0].groups[1]].ranks, ElementsAre(0U, 1U, 2U, 3U));
  EXPECT_EQ(grouped.programs[0]->collectives[0].size, Bytes{200}) << "an all-gather of 2 x 100 B";
}

TEST_F(ChakraJobTest, RejectsGroupsThatDoNotFit) {
  EtWriter trace;
  trace.all_reduce({}, 8, "5");
  write(0, trace);
  write(1, trace);
  expect_rejected(2, "(pg_name) is '5', which the file of process groups does not list");
  groups_ = R"({"5": [0]})";
  expect_rejected(2, "rank 1 calls a collective of process group '5' without being a member");
  groups_ = R"({"5": [0, 2]})";
  expect_rejected(2, "groups.json: group '5' lists 2: the job has ranks 0 to 1");
  groups_ = R"({"5": [0, 0]})";
  expect_rejected(2, "lists rank 0 twice");
  groups_ = R"({"5": "all"})";
  expect_rejected(2, "is not a list of ranks");
  groups_ = "[1]";
  expect_rejected(2, "no JSON object of process groups");
  groups_ = "{";
  expect_rejected(2, "groups.json: no JSON");
}

TEST_F(ChakraJobTest, RejectsRanksThatDisagree) {
  EtWriter two;
  two.all_reduce({}, 8);
  two.all_reduce({}, 8);
  EtWriter one;
  one.all_reduce({}, 8);
  EtWriter other;
  other.all_reduce({}, 8);
  other.all_reduce({}, 16);
  write(0, two);
  write(1, one);
  expect_rejected(2, "group 'world': rank 1 calls 1 of its collectives, rank 0");
  write(1, other);
  expect_rejected(2, "collective 2 of rank 1 is all_reduce of 16 B (node 1), of rank 0");
  write(1, two_kernels(1, 1));
  expect_rejected(2, "rank 1 calls 0 of its collectives");
}

TEST_F(ChakraJobTest, RejectsMissingAndEmptyTraces) {
  write(0, two_kernels(5, 6));
  expect_rejected(2, "t.1.et: no such file: rank 1 of 2 has no trace (ranks: 1 simulates those before it)");
  write(1, EtWriter{});
  expect_rejected(2, "t.1.et: the trace has no nodes");
  EXPECT_THAT([&] { job(5); },
              ThrowsMessage<std::invalid_argument>("5 ranks were asked for, the cluster has 4 GPUs"));
}

TEST_F(ChakraJobTest, MessagesOfAPairGoThroughAGroupOfTwo) {
  EtWriter first;
  first.send(1, 7, {first.compute("a", {}, 1)}, 64);
  EtWriter second;
  second.compute("b", {second.receive(0, 7, {}, 64)}, 1);
  write(0, first);
  write(1, second);
  const Job made = job(2);
  EXPECT_THAT(made.groups, SizeIs(1));
  EXPECT_THAT(made.groups.front().ranks, ElementsAre(0, 1));
  EXPECT_THAT(listing(*made.programs[0]),
              ElementsAre("a", "record 0 on compute", "send 0 waits for 0", "send", "end"));
  EXPECT_THAT(listing(*made.programs[1]),
              ElementsAre("receive", "record 0 on receive 0", "compute waits for 0", "b", "end"));
}

// A receive whose own dependency is late holds up what waits for it, not the message.
TEST_F(ChakraJobTest, WhoWaitsForAReceiveWaitsForWhatItWaitsFor) {
  EtWriter first;
  first.send(1, 0, {}, 64);
  EtWriter second;
  const std::uint64_t reduced = second.all_reduce({}, 8, "2");
  second.compute("b", {second.receive(0, 0, {reduced}, 64)}, 1);
  groups_ = R"({"2": [1]})";
  write(0, first);
  write(1, second);
  EXPECT_THAT(listing(*job(2).programs[1]),
              ElementsAre("receive", "record 0 on receive 0", "all_reduce", "record 1 on communication",
                          "compute waits for 0", "compute waits for 1", "b", "end"));
}

TEST_F(ChakraJobTest, RejectsMessagesThatDoNotMeet) {
  EtWriter first;
  first.send(1, 7, {}, 64);
  EtWriter second;
  second.compute("b", {}, 1);
  write(0, first);
  write(1, second);
  expect_rejected(2, "rank 0 sends 1 messages with tag 7 to rank 1");
  EtWriter smaller;
  smaller.receive(0, 7, {}, 32);
  write(1, smaller);
  expect_rejected(2, "message 1 with tag 7 from rank 0 to rank 1 is 64 B (node 0), but");
  EtWriter twice;
  twice.receive(0, 7, {twice.receive(0, 7, {}, 64)}, 64);
  write(1, twice);
  expect_rejected(2, "rank 1 receives 2 messages with tag 7 from rank 0");
  EtWriter beyond;
  beyond.send(9, 0, {}, 64);
  write(1, beyond);
  expect_rejected(2, "to rank 9: the job has ranks 0 to 1");
  EtWriter itself;
  itself.send(1, 0, {}, 64);
  write(1, itself);
  expect_rejected(2, "to itself");
}

TEST_F(ChakraJobTest, RejectsMessagesThatWaitForEachOther) {
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    EtWriter trace;
    trace.send(1 - rank, 0, {trace.receive(1 - rank, 0, {}, 64)}, 64);
    write(static_cast<int>(rank), trace);
  }
  expect_rejected(2, "messages wait for each other in a circle");
}

TEST_F(ChakraJobTest, CopiesAreCopies) {
  EtWriter trace;
  trace.work(2, {}, 0, 4096);
  trace.work(3, {0}, 0, 1024);
  write(0, trace);
  const Job made = job(1);
  const auto& kernels = made.programs.front()->kernels;
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(std::get<Memcpy>(kernels[0].work), (Memcpy{Bytes{4096}, Memcpy::Path::HostToDevice, true}));
  EXPECT_EQ(std::get<Memcpy>(kernels[1].work), (Memcpy{Bytes{1024}, Memcpy::Path::DeviceToHost, true}));
}

TEST_F(ChakraJobTest, OperationsNeedAGpuToTimeThemOn) {
  EtWriter trace;
  trace.work(4, {}, 1000, 0);
  write(0, trace);
  expect_rejected(1, "operations in place of a duration (duration_micros), and no GPU is known");
}

}  // namespace
}  // namespace lockstep
