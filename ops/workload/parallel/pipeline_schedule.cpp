#include "ops/workload/parallel/pipeline_schedule.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using Kind = StageAction::Kind;

std::vector<StageAction> gpipe(int micro_batches) {
  std::vector<StageAction> actions;
  for (int m = 0; m < micro_batches; ++m) {
    actions.push_back({Kind::Forward, m, 0});
  }
  for (int m = 0; m < micro_batches; ++m) {
    actions.push_back({Kind::Backward, m, 0});
  }
  return actions;
}

std::vector<StageAction> one_f_one_b(int stages, int stage, int micro_batches) {
  std::vector<StageAction> actions;
  const int warm_up = std::min(stages - 1 - stage, micro_batches);
  int forward = 0;
  for (; forward < warm_up; ++forward) {
    actions.push_back({Kind::Forward, forward, 0});
  }
  for (int backward = 0; backward < micro_batches; ++backward) {
    if (forward < micro_batches) {
      actions.push_back({Kind::Forward, forward++, 0});
    }
    actions.push_back({Kind::Backward, backward, 0});
  }
  return actions;
}

/// The k-th forward (or backward) of a stage: groups of p micro-batches go through all chunks in turn.
StageAction interleaved_at(Kind kind, int k, int stages, int chunks) {
  const int group = k / (stages * chunks), within = k % (stages * chunks);
  const int chunk = within / stages;
  return {kind, group * stages + within % stages, kind == Kind::Forward ? chunk : chunks - 1 - chunk};
}

std::vector<StageAction> interleaved(int stages, int stage, int micro_batches, int chunks) {
  std::vector<StageAction> actions;
  const int total = micro_batches * chunks;
  const int warm_up =
      micro_batches == stages ? total : std::min(total, 2 * (stages - 1 - stage) + (chunks - 1) * stages);
  int forward = 0;
  for (; forward < warm_up; ++forward) {
    actions.push_back(interleaved_at(Kind::Forward, forward, stages, chunks));
  }
  for (int backward = 0; backward < total; ++backward) {
    if (forward < total) {
      actions.push_back(interleaved_at(Kind::Forward, forward++, stages, chunks));
    }
    actions.push_back(interleaved_at(Kind::Backward, backward, stages, chunks));
  }
  return actions;
}

std::vector<StageAction> zero_bubble(int stages, int stage, int micro_batches) {
  std::vector<StageAction> actions;
  int outstanding = 0, weights = 0;
  for (const StageAction& action : one_f_one_b(stages, stage, micro_batches)) {
    actions.push_back(action);
    if (action.kind == Kind::Backward && ++outstanding > stage) {
      actions.push_back({Kind::WeightGradient, weights++, 0});
      --outstanding;
    }
  }
  for (; weights < micro_batches; ++weights) {
    actions.push_back({Kind::WeightGradient, weights, 0});
  }
  return actions;
}

}  // namespace

std::vector<StageAction> stage_actions(PipelineSchedule schedule, int stages, int stage, int micro_batches,
                                       int chunks) {
  switch (schedule) {
    case PipelineSchedule::GPipe:
      return gpipe(micro_batches);
    case PipelineSchedule::OneFOneB:
      return one_f_one_b(stages, stage, micro_batches);
    case PipelineSchedule::Interleaved:
      return interleaved(stages, stage, micro_batches, chunks);
    case PipelineSchedule::ZeroBubble:
      return zero_bubble(stages, stage, micro_batches);
  }
  return {};
}

}  // namespace lockstep
