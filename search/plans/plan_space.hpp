#pragma once

/// @file
/// Which plans are looked at: the choices for each key of `parallelism` that is searched, and all their
/// combinations that can be and are worth a prediction.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "ops/workload/framework_spec.hpp"
#include "ops/workload/parallel/plan_spec.hpp"
#include "ops/workload/precision.hpp"
#include "ops/workload/transformer_spec.hpp"
#include "search/plans/plan_candidate.hpp"

namespace lockstep {

/// The model to train, and the GPUs to train it on.
struct PlanProblem {
  TransformerSpec model;
  std::int64_t global_batch = 1;
  std::vector<int> gpus;     ///< the numbers of GPUs to plan for
  int gpus_of_node = 1;      ///< tensor parallelism stays inside, as long as there are samples for the others
  TransformerPlanSpec base;  ///< what is not searched: overlap, rank order, offload, ...
  TensorTypes types = Precision::BF16;
  FrameworkSpec framework = {};
  /// GPU kinds by rank, of a cluster with several kinds of GPUs: the higher the number, the slower. Empty:
  /// all are alike.
  std::vector<std::uint32_t> gpu_kinds = {};
};

/// Whether stages of a pipeline are alike.
enum class StageDepths : std::uint8_t {
  Even,    ///< as many layers in each, but for one
  Uneven,  ///< `stage_layers`: as many as make the step shortest (stage_balance.hpp)
};
constexpr auto names_of(StageDepths) {
  return std::to_array<EnumName<StageDepths>>({{StageDepths::Even, "even"}, {StageDepths::Uneven, "uneven"}});
}

/// Choices by key of `parallelism` (and `micro_batch`).
struct PlanSpace {
  std::vector<int> tensor, pipeline, context, expert;
  bool tensor_is_given = false;  ///< by the user: beyond a node, too
  std::vector<std::int64_t> micro_batch;
  std::vector<bool> sequence_parallel;
  std::vector<PipelineSchedule> schedule;
  std::vector<int> chunks;        ///< of an interleaved schedule
  bool chunks_are_given = false;  ///< by the user: many that leave chunks of unequal depth, too
  std::vector<Sharding> sharding;
  std::vector<bool> reshard_after_forward;  ///< of zero3
  std::vector<Recompute> recompute;
  /// All combinations have the first where they can; another is for variants of the best.
  std::vector<bool> tensor_overlap;
  /// All combinations have even ones; uneven ones are of those that they promise the most (`stage_layers`).
  std::vector<StageDepths> stage_layers;

  [[nodiscard]] bool has(StageDepths depths) const;
};

/// All that may be worth it: degrees that divide a number of GPUs (context only with flash attention, expert
/// only with experts), micro-batches that divide the batch up to 64, 2 to 4 chunks and as many as divide the
/// layers of a stage, every schedule, sharding and recomputation. A scenario with PyTorch's FSDP
/// (`zero3_implementation`) stays with it: zero3 that drops or keeps parameters after forward (FULL_SHARD,
/// SHARD_GRAD_OP).
[[nodiscard]] PlanSpace usual_space(const PlanProblem& problem);

/// The plan with `zero3_implementation` named where the model's framework takes PyTorch's FSDP by default.
[[nodiscard]] TransformerPlanSpec with_own_fsdp(TransformerPlanSpec plan, const TransformerSpec& model);

/// Why combinations are not predicted.
enum class Pruned : std::uint8_t {
  Framework,     ///< check_implementation() or check_framework() objects
  CannotBe,      ///< make_plan() objects: something does not divide, or the model cannot
  ShardGroup,    ///< replicas are no multiple of the base's `shard_group`
  BeyondNode,    ///< tensor parallelism over the network between nodes, and more than GPUs for each sample
  SameAsOther,   ///< a schedule without anything to schedule, sharding without replicas
  UnevenChunks,  ///< more than a few of unequal depth, of which every pass waits for the deepest
  GPipe,         ///< has the bubble of 1F1B and keeps more (Narayanan et al., arXiv 2104.04473, section 2.2)
  Bound,         ///< memory_bound() is beyond the GPU
  Memory,        ///< beyond the GPU by the estimate
  Beaten,        ///< by known ones, whatever it turns out to take (DominanceFilter)
};
[[nodiscard]] std::string reason_of(Pruned pruned);

struct PlanEnumeration {
  std::uint64_t combinations = 0;
  std::map<Pruned, std::uint64_t> pruned;
  std::map<std::string, std::uint64_t> refused;  ///< by what they say
  std::vector<PlanCandidate> candidates;         ///< in the order of the space
};

/// Whether it adds up: check() and make_plan() have no objection.
[[nodiscard]] bool can_be(const PlanCandidate& candidate, const PlanProblem& problem);

/// The candidate with `tensor_overlap` the other way round: where @p space has that choice, and tensor
/// parallelism is inside a node, where the GPUs reach each other's memory, and of a framework that has it.
[[nodiscard]] std::optional<PlanCandidate> with_tensor_overlap(PlanCandidate candidate,
                                                               const PlanProblem& problem,
                                                               const PlanSpace& space);

/// Every combination of @p space, or why not.
[[nodiscard]] PlanEnumeration enumerate_plans(const PlanProblem& problem, const PlanSpace& space);

}  // namespace lockstep
