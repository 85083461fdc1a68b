#include "synth/aggregate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/program_builder.hpp"
#include "tests/support/program_listing.hpp"
#include "tests/support/script.hpp"

namespace lockstep::synth {
namespace {

using ::testing::ElementsAre;
using testing::job_of;
using testing::kTick;
using testing::Script;
using testing::tick_gpu;
using testing::tick_machine;
using testing::worth;

std::vector<std::string> listing(const Program& program) {
  std::vector<std::string> lines;
  for (const Instruction& i : program.threads.front().instructions) {
    if (i.op == Opcode::Launch) {
      const auto* timed = std::get_if<Timed>(&program.kernels[i.operand].work);
      lines.push_back(
          timed == nullptr ? "copy" : std::to_string(std::lround(timed->duration.in_base_units() / kTick)));
    } else if (i.op == Opcode::Collective) {
      const double bytes = program.collectives[i.operand].size.in_base_units();
      lines.push_back("reduce " + std::to_string(std::lround(bytes / 1024)));
    } else if (i.op == Opcode::RecordEvent || i.op == Opcode::StreamWait) {
      lines.push_back((i.op == Opcode::RecordEvent ? "record " : "wait ") + std::to_string(i.stream));
    } else {
      lines.emplace_back("other");
    }
  }
  return lines;
}

// Three buckets: their gradients take 2 + 3, 4 and 5 ticks. Two are left, the first with its own bytes, the
// second with those of two; nothing waits for the second bucket's gradients any more.
TEST(Aggregate, RowsOfKernelsAndCollectivesBecomeOne) {
  const Fabric fabric = tick_machine(2);
  Script rank{{"compute", "nccl"}, {"world"}};
  rank.work(1).launch(0, 2).launch(0, 3);
  for (std::uint32_t bucket = 0; bucket < 3; ++bucket) {
    if (bucket > 0) rank.launch(0, 3 + bucket);
    rank.record(0, bucket).stream_wait(1, bucket).all_reduce(1, 0, worth(10 + bucket));
  }
  rank.record(1, 3).stream_wait(0, 3).launch(0, 7).wait_device();
  Job job = job_of(fabric, {rank, rank}, {{"world", {0, 1}}});
  const AggregateReport report = aggregate(job, tick_gpu(), {});
  EXPECT_THAT(listing(*job.programs.front()),
              ElementsAre("9", "record 0", "wait 1", "reduce 21", "5", "record 0", "wait 1", "reduce 12",
                          "record 1", "wait 0", "7", "other"));
  EXPECT_EQ(report.launches, 10U);  // of two programs
  EXPECT_EQ(report.left_launches, 6U);
  EXPECT_EQ(report.collectives, 6U);
  EXPECT_EQ(report.left_collectives, 4U);
  EXPECT_EQ(job.programs.front()->events, 3U);
  // The host's work goes before the first launch.
  EXPECT_FLOAT_EQ(job.programs.front()->threads.front().instructions.front().lead, static_cast<float>(kTick));
}

// Alone, a collective takes 3 ticks and its bytes: one of two loses 3 ticks. The one that stayed loses none.
TEST(Aggregate, LatenciesOfMergedCollectivesStayAsAKernel) {
  const Fabric fabric = tick_machine(2);
  Script rank{{"compute", "nccl"}, {"world"}};
  for (int i = 0; i < 3; ++i) rank.all_reduce(1, 0, worth(10 + i));
  rank.wait_device();
  Job job = job_of(fabric, {rank, rank}, {{"world", {0, 1}}});
  AggregateOptions options;
  options.alone = [](const CollectiveCall& call, const ProcessGroup& group) {
    EXPECT_EQ(group.ranks.size(), 2U);
    return 3 * kTick + call.size / worth(1) * kTick;
  };
  static_cast<void>(aggregate(job, tick_gpu(), options));
  EXPECT_THAT(listing(*job.programs.front()), ElementsAre("3", "reduce 21", "reduce 12", "other"));
}

TEST(Aggregate, CopiesAndWhatStaysDivideARow) {
  const Fabric fabric = tick_machine(1);
  Script rank{{"compute"}};
  rank.launch(0, 2).copy(0, worth(4), Memcpy::Path::HostToDevice).launch(0, 3).launch(0, 9, 0, "known");
  rank.launch(0, 1).launch(0, 1);
  Job job = job_of(fabric, {rank});
  AggregateOptions options;
  options.stays = [](const KernelCall& call) { return call.name == "known"; };
  static_cast<void>(aggregate(job, tick_gpu(), options));
  EXPECT_THAT(listing(*job.programs.front()), ElementsAre("2", "copy", "3", "9", "2"));
}

// Which of two threads calls first is not in a Program: each keeps a row of its own.
TEST(Aggregate, RowsOfCollectivesEndWithTheirThread) {
  ProgramBuilder rank{plain_host()};
  const StreamId stream = rank.stream("communication");
  const GroupId world = rank.group("world");
  for (const char* thread : {"main", "autograd", "main"}) {
    rank.on(rank.thread(thread));
    rank.collective(stream, {CollectiveKind::AllReduce, DataType::FP32, world, worth(1), {}, 0});
  }
  Job job;
  job.programs = {std::make_shared<const Program>(std::move(rank).build())};
  job.groups = {{"world", {0, 1}}};
  job.ranks = {{0, 0, {0}, {}, {}}, {0, 1, {0}, {}, {}}};
  AggregateOptions options;
  options.collectives = 1;
  static_cast<void>(aggregate(job, tick_gpu(), options));
  EXPECT_THAT(listing(*job.programs.front()), ElementsAre("reduce 2"));
  ASSERT_EQ(job.programs.front()->threads.size(), 2U);
  EXPECT_EQ(job.programs.front()->threads.back().instructions.size(), 1U);
}

}  // namespace
}  // namespace lockstep::synth
