#pragma once

/// @file
/// Plans that are worth a simulation, and what it says of them.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/embedding/placement_splits.hpp"
#include "search/sharding/method.hpp"
#include "search/sharding/network_costs.hpp"

namespace lockstep {

/// A plan with its name, the step it gives, and what the fast models say of its parts.
struct Candidate {
  std::string name;
  EmbeddingPlan plan;
  std::optional<Seconds> step;  ///< nothing: not simulated yet, or out of memory
  double search_seconds = 0;
  PlacementSplit split{};      ///< what its pieces are of
  sharding::Plan pieces{};     ///< of the tables that are placed
  std::string why_no_step{};   ///< of one that a search judged and that has none
  std::string remark{};        ///< exact: proven, or how far from what is possible; whose networks judged
  std::int64_t questions = 0;  ///< that its search asked the fast models
};

/// The plan of one method under the fast models; nothing where it has none.
[[nodiscard]] std::optional<Candidate> candidate_by(const sharding::Method& method,
                                                    const ShardingProblem& problem,
                                                    const sharding::SearchOptions& options);

/// The candidate by cost networks in place of the fast models. The scenario's index model tells the networks
/// how often rows are used.
/// @param networks for as many devices as the problem has
[[nodiscard]] std::optional<Candidate> candidate_by_networks(const sharding::Method& method,
                                                             const ShardingProblem& problem,
                                                             const sharding::SearchOptions& options,
                                                             const sharding::NetworkCosts& networks);

/// Why a method that has no plan has none, where it is not the memory; "" where it is.
[[nodiscard]] std::string why_no_plan(const sharding::Method& method, const ShardingProblem& problem);

/// Threads that make candidates while the caller judges those before them.
struct MakingThreads {
  std::size_t others = 0;                                ///< besides the caller's
  std::function<bool()> is_late = [] { return false; };  ///< asked by them: whether time is up
};

/// Plans of Lockstep's own search: for exchanges that are hidden, half hidden and not at all; with the tables
/// that one GPU is too slow or too small for cut by rows; with small tables on every GPU; with all tables so.
/// Where none of these fits: with room for tables kept free for the rest of the step, all tables by rows, and
/// else as few as it takes in host memory, the coldest or the largest of those that it has room for, with
/// caches of 1 to 50 % of their rows or none, or all of them; where there are caches also with_full_caches().
/// @param found is called with each as soon as it is made, and may simulate it: a search that is stopped has
///   judged what it made
/// @param threads without influence on what is found, unless time is up
[[nodiscard]] std::vector<Candidate> our_candidates(const ShardingProblem& problem,
                                                    const sharding::SearchOptions& options,
                                                    const std::function<void(Candidate&)>& found = {},
                                                    const MakingThreads& threads = {});

}  // namespace lockstep
