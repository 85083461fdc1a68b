#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "search/embedding/best_so_far.hpp"
#include "search/embedding/learned_policy.hpp"
#include "search/embedding/search_result.hpp"
#include "search/embedding/step_simulator.hpp"

namespace lockstep {

/// When a search ends that would go on. What was looked at until its effort is spent is the same on every day
/// and machine; a budget of time may end it earlier, and then it depends on both.
struct SearchLimits {
  double effort = 1;              ///< times the usual: some 10 s of one core of 2025
  std::optional<Seconds> budget;  ///< from its construction on; nothing: no limit
  std::size_t jobs = 1;           ///< threads that make plans, the caller's included; they change no plan
};

/// Searches and simulates: the simple rules first, for they are what the others are compared with.
class Searching {
 public:
  /// All must outlive it.
  Searching(const ShardingProblem& problem, const Progress& progress, BestSoFar& best,
            const SearchLimits& limits, std::uint64_t seed);

  /// Sets what a method that learns has, or is to save. @param policy null: it is trained
  void use(const PolicyRequest& request, std::shared_ptr<const sharding::learned::PlacementPolicy> policy);

  /// NeuroShard's methods ask @p networks, which are for as many devices as there are; null: the fast models.
  void ask(std::shared_ptr<const sharding::NetworkCosts> networks) { networks_ = std::move(networks); }

  /// refine() will be called: what comes before it ends earlier.
  void keep_some_for_refining();

  /// The scenario's own plan, where it has one.
  void judge_own();

  /// @param asked for by name: it has its turn however late it is
  void run(const sharding::Method& method, bool asked = false);

  /// The last moves, judged by simulation, of the best plans so far.
  void refine();

  [[nodiscard]] SearchResult result() &&;

 private:
  /// The effort so far, in nominal seconds.
  [[nodiscard]] double effort() const;
  [[nodiscard]] bool is_out_of_time() const;
  /// Asked by what would go on: it does not.
  bool is_over();
  [[nodiscard]] const char* end_in_words() const;
  [[nodiscard]] bool any_step() const;
  void train(const sharding::Method& method);
  void simulate(Candidate& candidate, bool asked);

  const ShardingProblem& problem_;
  StepSimulator simulator_;
  const Progress& progress_;
  BestSoFar& best_;
  SearchLimits limits_;
  std::chrono::steady_clock::time_point began_;
  double share_ = 1;  // of effort and time, up to here
  SearchEnd end_;
  double questions_ = 0;  // times what one costs
  sharding::SearchOptions options_;
  PolicyRequest request_;
  std::shared_ptr<const sharding::NetworkCosts> networks_;
  std::vector<Candidate> all_;
  std::vector<std::string> left_out_;
};

}  // namespace lockstep
