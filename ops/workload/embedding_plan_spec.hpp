#pragma once

#include <array>
#include <optional>

#include "base/named.hpp"
#include "base/parameters.hpp"
#include "ops/workload/communication_type.hpp"
#include "ops/workload/embedding_plan.hpp"
#include "ops/workload/placement.hpp"

namespace lockstep {

/// Inputs that are fetched ahead of the step that needs them.
enum class InputPipeline : std::uint8_t {
  None,        ///< nothing
  SparseDist,  ///< copy and input distribution of later batches beside the step (TrainPipelineSparseDist)
};
constexpr auto names_of(InputPipeline) {
  return std::to_array<EnumName<InputPipeline>>(
      {{InputPipeline::None, "none"}, {InputPipeline::SparseDist, "sparse_dist"}});
}

/// How embedding tables are spread, and how their inputs and outputs travel.
struct EmbeddingPlanSpec {
  EmbeddingPlanner planner = EmbeddingPlanner::SizeLookupGreedy;
  std::optional<Named<EmbeddingPlan>> plan;
  double memory_share = 0.8;
  bool respect_memory = true;
  bool input_distribution = false;
  InputPipeline pipeline = InputPipeline::None;
  CommunicationTypes communication_type;

  template <class Visitor>
  static void describe(Visitor& key, EmbeddingPlanSpec& plan) {
    key.optional("planner", plan.planner, EmbeddingPlanner::SizeLookupGreedy,
                 "which table goes to which GPU");
    key.optional("plan", plan.plan, std::nullopt,
                 "a file that says it for every table, in place of the planner, e.g. plan.yaml");
    key.optional("memory_share", plan.memory_share, 0.8,
                 "part of a GPU's memory that tables may fill (0.8: Lin et al., arXiv 2404.12674)");
    key.optional(
        "respect_memory", plan.respect_memory, true,
        "false places tables as if memory were endless; their lookups cost what they would cost in device "
        "memory");
    key.optional("input_distribution", plan.input_distribution, false,
                 "ranks load their own samples and exchange the indices, as TorchRec does; else indices "
                 "arrive where their tables are");
    key.optional("pipeline", plan.pipeline, InputPipeline::None,
                 "sparse_dist: the next batches' copy and input distribution beside the step");
    key.optional(
        "communication_type", plan.communication_type, CommunicationTypes{},
        "of pooled rows and gradients, e.g. fp16 or {forward: fp16, backward: bf16}; reduce-scatters "
        "take fp16 in place of fp8 and int8");
  }

  void check() const {
    if (!(memory_share > 0) || memory_share > 1) {
      throw FieldError{"memory_share", "'memory_share' is a fraction above 0, at most 1"};
    }
  }

  /// Two plans from files are never equal: nobody compares them.
  friend bool operator==(const EmbeddingPlanSpec& a, const EmbeddingPlanSpec& b) {
    return !a.plan && !b.plan && a.planner == b.planner && a.memory_share == b.memory_share &&
           a.respect_memory == b.respect_memory && a.input_distribution == b.input_distribution &&
           a.pipeline == b.pipeline && a.communication_type == b.communication_type;
  }
};

}  // namespace lockstep
