#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "search/learned/placement_policy.hpp"
#include "search/sharding/cost_model.hpp"

namespace lockstep::sharding::learned {

struct TrainingProgress {
  int done = 0;  ///< rounds
  int rounds = 0;
  double figure = 0;  ///< of the last round: AutoShard's mean reward, DreamShard's mean cost in units
};

struct TrainingOptions {
  std::uint64_t seed = 1;
  int rounds = 0;  ///< 0: as many as the method trains for
  /// Asked in every round: whether to stop with what was learnt so far.
  std::function<bool()> stopped = [] { return false; };
  std::function<void(const TrainingProgress&)> progress = [](const TrainingProgress&) {};
};

inline constexpr int kAutoShardRounds = 150;
inline constexpr int kDreamShardRounds = 30;

/// AutoShard's training (Zha et al., arXiv 2208.06399; docs/search.md has what differs). A round: 8 episodes
/// on tasks drawn at random, whose devices' lookups are measured; one step of the policy, whose reward is
/// the degree of balance, least by most time of a device; 20 steps of the cost network.
/// @param costs the judge that measures
/// @pre tasks with tables and devices
[[nodiscard]] std::unique_ptr<PlacementPolicy> train_autoshard(std::span<const Task> tasks,
                                                               const CostModel& costs,
                                                               const TrainingOptions& options);

/// DreamShard's training (Zha et al., arXiv 2210.02023; docs/search.md has what differs). A round: plans of
/// the policy are measured; steps of the cost network; steps of the policy, each from 10 episodes on one task
/// whose reward is the predicted cost of the plan: nothing is measured there.
/// @param costs the judge that measures
/// @pre tasks with tables and devices
[[nodiscard]] std::unique_ptr<PlacementPolicy> train_dreamshard(std::span<const Task> tasks,
                                                                const CostModel& costs,
                                                                const TrainingOptions& options);

/// A policy that has learnt nothing yet. @pre the name of one of the two methods
[[nodiscard]] std::unique_ptr<PlacementPolicy> untrained_policy(std::string_view method,
                                                                const PolicyScale& scale);

}  // namespace lockstep::sharding::learned
