#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "search/plans/pipeline_time.hpp"
#include "search/plans/plan_candidate.hpp"
#include "search/plans/stage_probe.hpp"

namespace lockstep {

/// Facts that the estimate needs besides the probe.
struct EstimateInput {
  std::int64_t layers = 1;
  bool tied = true;                       ///< embedding and head share their weight
  std::vector<PipelineMessage> messages;  ///< by stage, as PipelineCosts; none without a pipeline
  Interference interference = {};
};

struct PlanEstimate {
  Seconds step;
  Bytes memory;  ///< peak of the fullest rank, without context and fragmentation
};

/// The step time and memory of a candidate from the costs of its stages.
///
///   step   = pipeline_time + L layer + step, of the stage in which the last two are most
///
/// where a part's layers take layer_pass each, split as stages split them, the first part what the embedding
/// takes of the pass besides, and the last part what the head does;
///   memory = that of the fullest stage with its layers and micro-batches in flight; embedding and head at
///   the ends
///
/// *Assumes* gradients of weights that take as long as forward (Qi et al., arXiv 2401.10241, table 1) where
/// the probe did not put them off; messages that meet nobody else's. *Valid for* ranking: who is simulated
/// next. The answer is the simulation's.
[[nodiscard]] PlanEstimate estimate(const PlanCandidate& candidate, const CostsOfStages& costs,
                                    const EstimateInput& input);

/// The least step time of a candidate with its stages as they are, from relaxed() costs. Leaves out all that
/// happens once a step, of which sharding may save the most. @param estimated by estimate(), of the same
/// candidate
[[nodiscard]] Seconds least_step(Seconds estimated, const PlanCandidate& candidate,
                                 const CostsOfStages& relaxed, const EstimateInput& input);

/// The memory alone, of the fullest rank of each stage: no pipeline is worked out for it.
[[nodiscard]] std::vector<Bytes> memory_of_stages(const PlanCandidate& candidate, const CostsOfStages& costs,
                                                  const EstimateInput& input);

/// Micro-batches whose activations stage s keeps at once, in micro-batches of a whole stage (a chunk's are
/// 1 / chunks): n for GPipe; min(p - s, n) for 1F1B; min(p, n) for ZB-H1, whose later stages put off weight
/// gradients instead (arXiv 2401.10241, section 2.3); of an interleaved schedule one more than its warm-up,
/// 2 (p - 1 - s) + (v - 1) p chunks (arXiv 2104.04473).
[[nodiscard]] double in_flight(const PlanCandidate& candidate, int stage);

/// Figures that plans are compared by.
struct PlanFigures {
  double step = 0;    ///< s
  double memory = 0;  ///< bytes, of GPUs of several sizes as of the smallest
  int gpus = 1;
};

/// Numbers of those that no other is at least as good as in all three, and better in one, by step time. Of
/// equal ones the first.
[[nodiscard]] std::vector<std::size_t> pareto_front(std::span<const PlanFigures> plans);

}  // namespace lockstep
