#pragma once

/// @file
/// Where the policy of a method that learns comes from: a file, or training for the scenario.

#include <functional>
#include <memory>
#include <string>

#include "base/progress.hpp"
#include "search/embedding/sharding_problem.hpp"
#include "search/learned/placement_policy.hpp"
#include "search/sharding/method.hpp"

namespace lockstep {

struct PolicyRequest {
  std::string weights;       ///< file to take the policy from; empty: train it
  std::string save_weights;  ///< file for the trained policy; empty: none
};

/// Whether the method learns before it searches.
[[nodiscard]] bool learns(const sharding::Method& method);

/// The policy in the file that was asked for; null where none was.
/// @throws InputError where the file has none, or one of another method
/// @throws std::invalid_argument where files are asked for of a method that learns nothing, or both
[[nodiscard]] std::shared_ptr<const sharding::learned::PlacementPolicy> policy_from_file(
    const PolicyRequest& request, const std::string& method);

/// Learns on tasks of half to all of the scenario's tables on its devices, under the fast models, and saves
/// what was asked for.
/// @param options seed, and when to stop with what was learnt
[[nodiscard]] std::shared_ptr<const sharding::learned::PlacementPolicy> policy_by_training(
    const sharding::Method& method, const ShardingProblem& problem, const sharding::SearchOptions& options,
    const PolicyRequest& request, const Progress& progress);

}  // namespace lockstep
