/// @file
/// The bubble of pipeline schedules against the closed forms of their papers, with transfers that take no
/// time.

#include <gtest/gtest.h>

#include "ops/workload/parallel/pipeline_schedule.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

constexpr double kForward = 64, kBackward = 128, kWeight = 64;  // ticks of a chunk
constexpr double kMessage = 1.0 / 1024;                         // ticks that a message takes

struct Pipeline {
  PipelineSchedule schedule;
  int stages, micro_batches, chunks;
};

using Kind = StageAction::Kind;

/// Writes a stage in StageWriter's way, with kernels of given duration. Streams: compute; send and receive of
/// activations, and of gradients.
Script stage_of(const Pipeline& pipeline, int stage) {
  Script script({"compute", "s", "r", "gs", "gr"}, {"pp", "pp gradients"});
  std::uint32_t event = 0;
  const int stages = pipeline.stages;
  const auto transfer = [&](CollectiveKind kind, bool gradients, int peer) {
    const auto stream =
        static_cast<std::uint8_t>((kind == CollectiveKind::Send ? 1 : 2) + (gradients ? 2 : 0));
    script.record(0, event).stream_wait(stream, event);
    script.collective(stream,
                      {kind, DataType::FP32, gradients ? 1U : 0U, worth(kMessage), {}, peer % stages});
    script.record(stream, event + 1);
    event += 2;
    return event - 1;
  };
  const int last = pipeline.chunks - 1;
  const bool splits = pipeline.schedule == PipelineSchedule::ZeroBubble;
  for (const StageAction& action :
       stage_actions(pipeline.schedule, stages, stage, pipeline.micro_batches, pipeline.chunks)) {
    const bool forward = action.kind == Kind::Forward;
    const bool first_part = stage == 0 && action.chunk == 0;
    const bool last_part = stage + 1 == stages && action.chunk == last;
    if (action.kind == Kind::WeightGradient) {
      script.launch(0, kWeight);
      continue;
    }
    if (forward ? !first_part : !last_part) {
      script.stream_wait(0, transfer(CollectiveKind::Receive, !forward, stage + (forward ? stages - 1 : 1)));
    }
    script.launch(0, forward ? kForward : splits ? kBackward - kWeight : kBackward);
    if (forward ? !last_part : !first_part) {
      (void)transfer(CollectiveKind::Send, !forward, stage + (forward ? 1 : stages - 1));
    }
  }
  return script;
}

SimulationResult simulated(const Pipeline& pipeline) {
  const Fabric fabric = tick_machine(pipeline.stages);
  const CollectivePlanner planner{fabric, rings()};
  std::vector<Script> scripts;
  ProcessGroup group{"pp", {}};
  for (int stage = 0; stage < pipeline.stages; ++stage) {
    scripts.push_back(stage_of(pipeline, stage));
    group.ranks.push_back(static_cast<std::uint32_t>(stage));
  }
  const ProcessGroup gradients{"pp gradients", group.ranks};
  const Job job = job_of(fabric, scripts, {group, gradients});
  const auto input = input_of(job, fabric, planner);
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  return simulate(input, options, nullptr);
}

/// Ticks from the first kernel to the last.
double duration(const Pipeline& pipeline) {
  return simulated(pipeline).makespan().in_base_units() / kTick;
}

constexpr double kSlack = 1;  // ticks for all messages on the longest path

/// Every stage works m (tf + tb) and waits for p - 1 stages before and behind: (m + p - 1)(tf + tb).
TEST(Bubble, OfGPipeAndOneFOneB) {
  for (const PipelineSchedule schedule : {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB}) {
    EXPECT_NEAR(duration({schedule, 4, 8, 1}), (8 + 3) * (kForward + kBackward), kSlack);
    EXPECT_NEAR(duration({schedule, 4, 3, 1}), (3 + 3) * (kForward + kBackward), kSlack);
  }
}

/// Narayanan et al., arXiv 2104.04473, section 2.2.2: with v chunks a stage, each of tf and tb, the bubble is
/// (p - 1)(tf + tb) beside work of m v (tf + tb): v times smaller.
TEST(Bubble, OfInterleaved) {
  EXPECT_NEAR(duration({PipelineSchedule::Interleaved, 4, 8, 2}), (8 * 2 + 3) * (kForward + kBackward),
              kSlack);
  EXPECT_NEAR(duration({PipelineSchedule::Interleaved, 2, 8, 3}), (8 * 3 + 1) * (kForward + kBackward),
              kSlack);
}

/// Qi et al., arXiv 2401.10241, table 1: ZB-H1 has (p - 1)(tf + tb - tw), tb without the weights' part.
TEST(Bubble, OfZeroBubbleH1) {
  const double inputs = kBackward - kWeight;
  EXPECT_NEAR(duration({PipelineSchedule::ZeroBubble, 4, 12, 1}),
              12 * (kForward + kBackward) + 3 * (kForward + inputs - kWeight), kSlack);
}

/// The last backward pass goes from the last stage to the first: each is done one tb before the one in front.
TEST(Bubble, LaterStagesAreDoneEarlier) {
  constexpr int kStages = 4;
  const SimulationResult result = simulated({PipelineSchedule::OneFOneB, kStages, 8, 1});
  for (int stage = 0; stage < kStages; ++stage) {
    const double early =
        result.makespan().in_base_units() - result.ranks[static_cast<std::size_t>(stage)].end;
    EXPECT_NEAR(early / kTick, stage * kBackward, kSlack);
  }
}

}  // namespace
}  // namespace lockstep::testing
