#pragma once

#include <optional>
#include <vector>

#include "ops/workload/parallel/plan_spec.hpp"

namespace lockstep {

/// The next action of a stage.
struct StageAction {
  enum class Kind : std::uint8_t {
    Forward,
    Backward,        ///< gradients of inputs, and of weights unless the schedule has them apart
    WeightGradient,  ///< zero-bubble only
  };
  Kind kind = Kind::Forward;
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const StageAction&) const = default;
};

/// The actions of one stage, in order; every micro-batch of every chunk once forward, once backward (and
/// once for the weights).
///   GPipe        m forward, m backward
///   1F1B         min(p - 1 - s, m) forward to fill the pipeline, then one forward, one backward in turn
///   Interleaved  Megatron-LM's schedules.py: groups of p micro-batches through each chunk; warm-up
///                2 (p - 1 - s) + (v - 1) p
///   ZB-H1        1F1B whose weight gradients are put off: as many are outstanding as warm-up is shorter than
///                the first stage's
/// @param stages p  @param stage s, from 0  @param micro_batches m  @param chunks v
[[nodiscard]] std::vector<StageAction> stage_actions(PipelineSchedule schedule, int stages, int stage,
                                                     int micro_batches, int chunks);

/// Messages that an interleaved stage sends and receives behind an action, besides those of the action.
struct StageExchange {
  std::optional<StageAction> forward, backward;  ///< next ones whose inputs are asked for
  /// The stage waits for all of it, and for what was sent.
  bool waits = false;
  bool sends = true;  ///< false: what the action sends goes with the next exchange
  bool operator==(const StageExchange&) const = default;
};

/// Exchanges by action, as in Megatron-LM (core/pipeline_parallel/schedules.py,
/// forward_backward_pipelining_with_interleaving). With overlap_p2p_comm each action asks for the next input
/// of its kind. Without, each forward of the warm-up exchanges its output for the next input
/// (send_forward_recv_forward). From then on each backward exchanges the outputs of the pair of
/// actions for the inputs of the next pair (send_forward_backward_recv_forward_backward).
/// @param actions of an interleaved schedule
[[nodiscard]] std::vector<StageExchange> stage_exchanges(const std::vector<StageAction>& actions,
                                                         bool overlap);

}  // namespace lockstep
