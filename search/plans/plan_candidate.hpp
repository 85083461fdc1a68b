#pragma once

#include <cstdint>
#include <string>

#include "ops/workload/parallel/plan_spec.hpp"

namespace lockstep {

/// A way to train a transformer on some GPUs that adds up (make_plan() has no objection).
struct PlanCandidate {
  TransformerPlanSpec plan;
  int gpus = 1;
  int data = 1;                  ///< gpus / (tensor x context x pipeline)
  std::int64_t micro_batch = 1;  ///< samples
  int micro_batches = 1;         ///< of a step, on each replica

  bool operator==(const PlanCandidate&) const = default;
};

/// GPUs that hold the same weights, of which `sharding` leaves each a share: data and context parallel.
[[nodiscard]] inline int replicas_of(const PlanCandidate& candidate) {
  return candidate.data * candidate.plan.context;
}

/// Ranks from one stage to the next: those that differ in what is nearer than the stage (`rank_order`). Stage
/// s has the ranks r of which r / stride % stages is s.
[[nodiscard]] int stage_stride(const PlanCandidate& candidate);

/// `tp 8 dp 2 pp 4, micro-batch 1, 1f1b, layers 9-9-9-5, sequence parallel, zero1, recompute full`: what is
/// usual is left out.
[[nodiscard]] std::string in_words(const PlanCandidate& candidate);

}  // namespace lockstep
