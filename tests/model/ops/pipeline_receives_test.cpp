/// @file
/// When a pipeline stage asks for its inputs, and what it waits for: an interleaved schedule asks ahead of
/// other work.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

struct Receives {
  int all = 0, ahead = 0;  ///< with kernels between the receive and the wait for it
};

Receives receives_of(const Program& program) {
  Receives receives;
  for (const Program::Thread& thread : program.threads) {
    std::map<std::uint32_t, int> launches_since;  // by the event behind a receive
    std::optional<std::uint8_t> receiving;
    for (const Instruction& instruction : thread.instructions) {
      const std::uint32_t operand = instruction.operand;
      if (instruction.op == Opcode::Launch) {
        for (auto& [event, launches] : launches_since) ++launches;
      } else if (instruction.op == Opcode::Collective &&
                 program.collectives[operand].kind == CollectiveKind::Receive) {
        receiving = instruction.stream;
      } else if (instruction.op == Opcode::RecordEvent && receiving == instruction.stream) {
        launches_since[operand] = 0;
        receiving.reset();
      } else if (instruction.op == Opcode::StreamWait && launches_since.contains(operand)) {
        ++receives.all;
        receives.ahead += launches_since.extract(operand).mapped() > 0 ? 1 : 0;
      }
    }
  }
  return receives;
}

/// Stage 1 of 2 with 2 chunks and 4 micro-batches does F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7. Every
/// F receives, of the B those of chunk 0: B2, B3, B6, B7. F3 to F7 are asked for before a B, B2 and B3 before
/// an F.
TEST(PipelineReceives, OfAnInterleavedScheduleBeginAheadOfTheOtherDirection) {
  const Batch run{.ranks = 2, .batch = 4, .micro_batches = 4};
  const Job job =
      job_of(gpt3(), {.pipeline = 2, .schedule = PipelineSchedule::Interleaved, .chunks = 2}, run);
  const Receives receives = receives_of(*job.programs[job.ranks.at(1).program]);
  EXPECT_EQ(receives.all, 8 + 4);
  EXPECT_EQ(receives.ahead, 5 + 2);
}

/// Each receive without overlap is waited for where it is asked for, behind a forward of the warm-up or a
/// pair. 1F1B does so, too.
TEST(PipelineReceives, OfAnInterleavedScheduleWithoutOverlapAreWaitedFor) {
  const Batch run{.ranks = 2, .batch = 4, .micro_batches = 4};
  TransformerPlanSpec plan{.pipeline = 2, .schedule = PipelineSchedule::Interleaved, .chunks = 2};
  plan.overlap_p2p = false;
  const Job job = job_of(gpt3(), plan, run);
  const Receives receives = receives_of(*job.programs[job.ranks.at(1).program]);
  EXPECT_EQ(receives.all, 8 + 4);
  EXPECT_EQ(receives.ahead, 0);
}

/// Kernels that are launched while the compute stream has not waited for a send.
int launched_beside_sends(const Program& program) {
  int launched = 0;
  for (const Program::Thread& thread : program.threads) {
    std::set<std::uint32_t> sends;  // by the event behind them
    std::optional<std::uint8_t> sending;
    for (const Instruction& instruction : thread.instructions) {
      const std::uint32_t operand = instruction.operand;
      if (instruction.op == Opcode::Launch) {
        launched += sends.empty() ? 0 : 1;
      } else if (instruction.op == Opcode::Collective &&
                 program.collectives[operand].kind == CollectiveKind::Send) {
        sending = instruction.stream;
      } else if (instruction.op == Opcode::RecordEvent && sending == instruction.stream) {
        sends.insert(operand);
        sending.reset();
      } else if (instruction.op == Opcode::StreamWait) {
        sends.erase(operand);
      }
    }
  }
  return launched;
}

/// A send that nobody waits for holds its SMs until the other end is there.
TEST(PipelineSends, WithoutOverlapAreWaitedFor) {
  const Batch run{.ranks = 2, .batch = 4, .micro_batches = 4};
  TransformerPlanSpec plan{.pipeline = 2, .schedule = PipelineSchedule::Interleaved, .chunks = 2};
  const auto beside = [&] {
    const Job job = job_of(gpt3(), plan, run);
    return launched_beside_sends(*job.programs[job.ranks.at(1).program]);
  };
  EXPECT_GT(beside(), 0);
  plan.overlap_p2p = false;
  EXPECT_EQ(beside(), 0);
}

/// Number of times that the host waits for the GPU, by stage.
std::vector<std::int64_t> device_waits(const TransformerPlanSpec& plan) {
  const Job job = job_of(gpt3(), plan, {.ranks = 2, .batch = 4, .micro_batches = 4});
  std::vector<std::int64_t> waits;
  for (const RankAssignment& rank : job.ranks) {
    waits.push_back(0);
    for (const Program::Thread& thread : job.programs[rank.program]->threads) {
      waits.back() += std::ranges::count(thread.instructions, Opcode::WaitDevice, &Instruction::op);
    }
  }
  return waits;
}

/// Stage 0 does F0 F1 B0 F2 B1 F3 B2 B3 and has exchanges behind F0, F1, F2, F3 and B2; stage 1 before F0 and
/// behind each B.
TEST(PipelineSends, AreFollowedByAWaitForTheGpu) {
  TransformerPlanSpec plan{.pipeline = 2};
  EXPECT_EQ(device_waits(plan), (std::vector<std::int64_t>{5, 5}));
  plan.batch_p2p_sync = false;
  EXPECT_EQ(device_waits(plan), (std::vector<std::int64_t>{0, 0}));
}

/// Messages that overlap, and the fork with ZB-H1, have none.
TEST(PipelineSends, AreNotWaitedForByHostsOfOtherSchedules) {
  EXPECT_EQ(device_waits({.pipeline = 2, .schedule = PipelineSchedule::Interleaved, .chunks = 2}),
            (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(device_waits({.pipeline = 2, .schedule = PipelineSchedule::ZeroBubble}),
            (std::vector<std::int64_t>{0, 0}));
}

TEST(PipelineReceives, OfOneFOneBBeginWhenTheyAreNeeded) {
  const Batch run{.ranks = 2, .batch = 4, .micro_batches = 4};
  const Job job = job_of(gpt3(), {.pipeline = 2}, run);
  const Receives receives = receives_of(*job.programs[job.ranks.at(1).program]);
  EXPECT_EQ(receives.all, 4);
  EXPECT_EQ(receives.ahead, 0);
}

}  // namespace
}  // namespace lockstep
