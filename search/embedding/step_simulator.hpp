#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/embedding/sharding_problem.hpp"
#include "sim/known_kernels.hpp"

namespace lockstep {

/// Simulates a scenario's step under many plans. What a plan does not change is kept from one to the next:
/// the machine, layouts and routed traffic of its collectives, and the time of every kernel that a plan
/// before had, too: of all but those of ranks whose tables are others. Critical path and activity are not
/// recorded. The answers are those of ShardingProblem::step_time(), to the last bit.
class StepSimulator {
 public:
  /// The problem must outlive it.
  explicit StepSimulator(const ShardingProblem& problem);
  StepSimulator(const StepSimulator&) = delete;
  StepSimulator& operator=(const StepSimulator&) = delete;

  /// @return nothing where the step needs more memory than there is
  /// @throws InputError for what else does not fit
  [[nodiscard]] std::optional<Seconds> step_time(const EmbeddingPlan& plan);

  [[nodiscard]] std::uint64_t simulations() const { return simulations_; }
  [[nodiscard]] const std::vector<KnownKernels>& kernels() const { return known_; }

 private:
  const ShardingProblem& problem_;
  ResolvedScenario resolved_;
  CollectivePlanner planner_;
  std::vector<KnownKernels> known_;
  SimulationInput input_;
  SimulationOptions options_;
  std::uint64_t simulations_ = 0;
};

}  // namespace lockstep
