#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/progress.hpp"
#include "app/search/best_so_far.hpp"
#include "app/search/learned_policy.hpp"
#include "app/search/search_report.hpp"
#include "app/search/step_simulator.hpp"
#include "app/search/time_budget.hpp"

namespace lockstep {

/// Searches and simulates: the simple rules first, for they are what the others are compared with.
class Searching {
 public:
  /// All must outlive it.
  Searching(const ShardingProblem& problem, const Progress& progress, BestSoFar& best, TimeBudget budget,
            std::uint64_t seed);

  /// What a method that learns has, or is to save. @param policy null: it is trained
  void use(const PolicyRequest& request, std::shared_ptr<const sharding::learned::PlacementPolicy> policy);

  /// The scenario's own plan, where it has one.
  void judge_own();

  void run(const sharding::Method& method);

  /// The last moves, judged by simulation, of the best plans so far.
  void refine();

  [[nodiscard]] SearchResult result() &&;

 private:
  [[nodiscard]] bool any_step() const;
  /// What was learnt in the time there was is used.
  [[nodiscard]] bool is_late_for(const sharding::Method& method) const;
  void train(const sharding::Method& method);
  void simulate(Candidate& candidate, const sharding::Method& method);

  const ShardingProblem& problem_;
  StepSimulator simulator_;
  const Progress& progress_;
  BestSoFar& best_;
  TimeBudget budget_;
  sharding::SearchOptions options_;
  PolicyRequest request_;
  std::vector<Candidate> all_;
  std::vector<std::string> left_out_;
};

}  // namespace lockstep
