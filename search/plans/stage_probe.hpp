#pragma once

/// @file
/// What a layer, a micro-batch and a step cost under a plan, from small simulations of one pipeline stage: 2
/// and 4 layers (zero2: 8 and 16), 1 and 2 micro-batches, on the GPUs of a stage; and one more for what it
/// costs that hosts wait behind messages (`batch_p2p_sync`), where they do. Candidates that
/// differ in schedule and stages alone share them, but for ZB-H1: its weight gradients come too late to hide
/// what others hide behind them. Where GPUs are of several kinds, stages on others have probes of their own.

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "ops/memory.hpp"
#include "search/plans/plan_space.hpp"

namespace lockstep {

/// The part of a candidate that decides the cost of its layers: one stage by itself.
struct StageProbe {
  TransformerPlanSpec plan;  ///< without a pipeline
  int gpus = 1;              ///< of a stage
  std::int64_t micro_batch = 1;
  int first = 0;  ///< the rank on whose GPU it begins

  bool operator==(const StageProbe&) const = default;
};
[[nodiscard]] StageProbe probe_of(const PlanCandidate& candidate);  ///< on the first GPUs

/// Probes by stage; one for all of them where GPUs are alike. Each is on the stage's slowest GPU and those
/// beside it: as many in a row as a stage has, which are the stage's where it is a row (`rank_order`).
[[nodiscard]] std::vector<StageProbe> probes_of(const PlanCandidate& candidate, const PlanProblem& problem);

/// Equal for equal probes of one problem.
[[nodiscard]] std::string key_of(const StageProbe& probe);

/// The same without sharding, recomputation and weight gradients put off, which only ever add work: a
/// candidate is hardly faster than with its relaxed probe. Sharding stays where nothing goes without.
[[nodiscard]] StageProbe relaxed(StageProbe probe, const PlanProblem& problem);

/// The simulations of a probe.
struct ProbeSize {
  int layers, micro_batches;
  bool waits = false;  ///< the host for the GPU, before every pass
};
/// Few and many layers, one pass; the same, two passes; few and two with waits.
using ProbeSizes = std::array<ProbeSize, 5>;

/// Few layers, but for zero2 enough of them that they, too, hide reductions: gradients of embedding and head
/// are reduced after every micro-batch, which takes longer than a few layers compute, and what they cannot
/// hide would be counted to embedding and head.
[[nodiscard]] ProbeSizes sizes_of(const StageProbe& probe);

/// Times of passes through a part of the model, seconds.
struct PhaseTimes {
  double forward = 0;
  double backward = 0;  ///< with what is recomputed, and gradients of weights unless they are put off
  double weights = 0;   ///< ZB-H1: gradients of weights by themselves

  [[nodiscard]] double total() const { return forward + backward + weights; }
};

/// Time of the compute stream in each part of one step: a kernel counts from the end of the one before.
struct PassTimes {
  PhaseTimes layers, embedding, head;  ///< the head with the loss
};

/// The result of one probe's simulation.
struct ProbeAnswer {
  double step = 0;     ///< s
  double compute = 0;  ///< s of it in which a compute kernel runs
  PassTimes passes;    ///< of the probes with many layers
  /// Peaks before the optimizer runs and while it does, without context and fragmentation.
  MemoryBreakdown pass_memory, update_memory;
};

using ProbeAnswers = std::array<ProbeAnswer, std::tuple_size_v<ProbeSizes>>;

/// Memory that a stage holds at one moment.
struct StageMemory {
  MemoryBreakdown of_layer, of_rest;
};

/// A step of n micro-batches through L layers takes n L layer_pass + n pass + L layer + step.
struct StageCosts {
  Seconds layer_pass;                        ///< forward and backward of a layer and micro-batch
  Seconds pass;                              ///< of embedding, head and loss
  Seconds layer;                             ///< once a step: gradients, optimizer
  Seconds step;                              ///< once a step
  Seconds restart;                           ///< more, of a pass before which the host has waited
  double compute = 1;                        ///< share of layer_pass in which a compute kernel runs
  PhaseTimes layer_shares;                   ///< of layer_pass; sum 1
  PhaseTimes embedding_shares, head_shares;  ///< of pass; sum 1
  /// Time that backward of the last micro-batch takes longer than the others', which is in `layer` and in
  /// `step`: gradients are scaled and reduced in it.
  double last_layer = 0, last_embedding = 0, last_head = 0;
  StageMemory pass_memory, update_memory;  ///< with one micro-batch in flight
};

/// Costs of the stages of a pipeline. The StageCosts must outlive it.
class CostsOfStages {
 public:
  /// The same for each stage.
  CostsOfStages(const StageCosts& all) : of_stage_{&all} {}
  /// @param of_stage by stage; of one alone: the same for each
  explicit CostsOfStages(std::vector<const StageCosts*> of_stage) : of_stage_{std::move(of_stage)} {}

  [[nodiscard]] const StageCosts& operator[](std::size_t stage) const {
    return *of_stage_[of_stage_.size() == 1 ? 0 : stage];
  }

 private:
  std::vector<const StageCosts*> of_stage_;
};

/// @param answers in the order of @p sizes
[[nodiscard]] StageCosts stage_costs(const ProbeSizes& sizes, const ProbeAnswers& answers);

}  // namespace lockstep
