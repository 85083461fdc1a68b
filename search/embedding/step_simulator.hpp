#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
  /// The problem must outlive it. @param jobs plans that are simulated at once, at most
  explicit StepSimulator(const ShardingProblem& problem, std::size_t jobs = 1);
  ~StepSimulator();
  StepSimulator(const StepSimulator&) = delete;
  StepSimulator& operator=(const StepSimulator&) = delete;

  /// @return nothing where the step needs more memory than there is
  /// @throws InputError for what else does not fit
  [[nodiscard]] std::optional<Seconds> step_time(const EmbeddingPlan& plan);

  /// The same of several plans, by as many threads, jobs() at most. What is used of the answers is to be
  /// counted: others were simulated in vain, more of them with more threads.
  [[nodiscard]] std::vector<std::optional<Seconds>> step_times(std::span<const EmbeddingPlan> plans);
  void count(const std::optional<Seconds>& used) { simulations_ += used ? 1 : 0; }

  [[nodiscard]] std::size_t jobs() const { return jobs_; }
  /// Those asked for by step_time(), and those counted.
  [[nodiscard]] std::uint64_t simulations() const { return simulations_; }
  [[nodiscard]] const std::vector<KnownKernels>& kernels() const;

 private:
  class Bench;

  Bench& bench(std::size_t number);

  const ShardingProblem& problem_;
  std::size_t jobs_;
  std::vector<std::unique_ptr<Bench>> benches_;  // one for each thread; made when it is first needed
  std::uint64_t simulations_ = 0;
};

}  // namespace lockstep
