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

std::vector<StageExchange> stage_exchanges(const std::vector<StageAction>& actions, bool overlap) {
  const auto is_backward = [](const StageAction& action) { return action.kind == Kind::Backward; };
  const auto at_first =
      static_cast<std::size_t>(std::ranges::find_if(actions, is_backward) - actions.begin());
  const bool has_steady_state = 2 * at_first < actions.size();  // the first backward's pair begins it
  const std::size_t warm_up = has_steady_state ? at_first - 1 : at_first;
  std::vector<StageExchange> exchanges(actions.size());
  std::optional<StageAction> forward, backward;  // the next ones
  for (std::size_t i = actions.size(); i-- > 0;) {
    StageExchange& exchange = exchanges[i];
    std::optional<StageAction>& own = is_backward(actions[i]) ? backward : forward;
    if (overlap) {
      (is_backward(actions[i]) ? exchange.backward : exchange.forward) = own;
    } else if (!is_backward(actions[i]) && i >= warm_up) {
      exchange.sends = false;
    } else {
      exchange.waits = true;
      exchange.forward = forward;
      exchange.backward =
          is_backward(actions[i]) || (has_steady_state && i + 1 == warm_up) ? backward : std::nullopt;
    }
    own = actions[i];
  }
  return exchanges;
}

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
