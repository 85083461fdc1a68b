#pragma once

#include <vector>

#include "ops/workload/parallel/plan_spec.hpp"

namespace lockstep {

/// What a stage does next.
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

}  // namespace lockstep
