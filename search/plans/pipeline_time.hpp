#pragma once

#include <vector>

#include "ops/workload/parallel/plan_spec.hpp"

namespace lockstep {

/// What the chunks of a pipeline's stages take, seconds. Part c p + s is chunk c of stage s, of p stages.
struct PipelineCosts {
  std::vector<double> forward, backward;  ///< by part, for a micro-batch
  std::vector<double> weights;            ///< by part: the part of backward that ZB-H1 puts off
  double message = 0;                     ///< from one part to the next
};

/// Time from the first action of a pipeline to its last, s: the longest path through the actions of all
/// stages (stage_actions()) as the stages write them. An action begins when the one before it on its stage
/// has ended and what it needs has been received; a receive begins when that action and the sender's have
/// ended, and takes a message; with 1F1B and GPipe an action waits for what the one before it sent, too.
///
/// More than six rounds of p micro-batches repeat themselves: they are worked out for four and five rounds,
/// and go on as the fifth.
///
/// @param stages p >= 1  @param chunks v >= 1  @param micro_batches >= 1
[[nodiscard]] double pipeline_time(const TransformerPlanSpec& plan, int micro_batches,
                                   const PipelineCosts& costs);

}  // namespace lockstep
