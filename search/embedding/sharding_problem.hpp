#pragma once

/// @file
/// From a DLRM scenario to a sharding task with Lockstep's models as its judge, and back.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/workload/table_shards.hpp"
#include "scenario/prediction.hpp"
#include "search/sharding/embedding_plans.hpp"
#include "search/sharding/model_costs.hpp"

namespace lockstep {

/// What a step exchanges of pooled rows, and of their gradients.
struct Exchanges {
  sharding::ExchangeCosts forward, backward;
};

/// Bytes of one number of pooled rows, and of their gradients, on their way between ranks.
struct TravellingElements {
  Bytes forward, backward;
};

/// A scenario whose embedding tables are to be placed.
class ShardingProblem {
 public:
  /// @throws InputError where the scenario trains no DLRM, or does not fit together
  ShardingProblem(YamlDocument document, const ConfigPath& configs);

  [[nodiscard]] const sharding::Task& task() const { return task_; }
  [[nodiscard]] const ResolvedScenario& resolved() const { return *resolved_; }
  [[nodiscard]] TravellingElements travelling_elements() const;
  /// What an element of a data-parallel table's gradient takes on its way.
  [[nodiscard]] Bytes gradient_of_copies() const;
  [[nodiscard]] ShardStorage storage() const;
  /// @param exposed share of the exchanges that is thought to lengthen the step
  [[nodiscard]] sharding::ModelCosts costs(double exposed) const;
  /// Likewise where a device is a node, each of whose GPUs has an equal part: what one of them costs, of the
  /// slowest kind that it has. @param exchanges of nodes, which must outlive the costs
  [[nodiscard]] sharding::ModelCosts costs_of_nodes(const Exchanges& exchanges) const;
  /// Among GPUs at the same place of their nodes, a device for each node.
  [[nodiscard]] Exchanges exchanges_of_nodes() const;

  [[nodiscard]] std::vector<sharding::TableExtent> extents() const;
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> ranks_of_node() const;

  /// The step under @p plan, simulated. @return nothing where it needs more memory than there is
  /// @throws InputError for what else does not fit
  [[nodiscard]] std::optional<Seconds> step_time(const EmbeddingPlan& plan) const;
  /// The step under @p plan needs no more memory than there is. @throws InputError for what else does not fit
  [[nodiscard]] bool has_memory_for(const EmbeddingPlan& plan) const;
  /// What the ranks do under @p plan. @throws InputError where it does not fit the scenario
  [[nodiscard]] Job job_under(const EmbeddingPlan& plan) const;
  /// The scenario under @p plan, built.
  [[nodiscard]] ResolvedScenario under(const EmbeddingPlan& plan) const;

 private:
  YamlDocument document_;
  std::unique_ptr<ResolvedScenario> resolved_;  // under a plan with which it always can be built
  sharding::Task task_;
  std::unique_ptr<CollectivePlanner> planner_;
  std::unique_ptr<const Exchanges> exchanges_;
  std::unique_ptr<const sharding::InputCosts> inputs_;  // null: they cost nothing within the step
  std::unique_ptr<const sharding::InputCosts> inputs_of_nodes_;

  [[nodiscard]] Exchanges exchanges_among(std::span<const VertexId> gpus) const;
  void add_inputs();
  [[nodiscard]] sharding::ModelCosts::Setup setup(double exposed) const;
  [[nodiscard]] std::uint32_t slowest_kind(const std::vector<std::uint32_t>& ranks) const;
};

}  // namespace lockstep
