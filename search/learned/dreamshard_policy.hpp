#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "search/learned/dreamshard_costs.hpp"
#include "search/learned/placement_policy.hpp"
#include "search/learned/placing.hpp"

namespace lockstep::sharding::learned {

/// Placements of one task side by side, none judged by anything but the cost network. Columns go by step, by
/// episode within it, by device within that.
struct DreamShardEpisodes {
  static constexpr std::uint32_t kOver = ~0U;  ///< chosen by an episode that found no room

  std::vector<std::uint32_t> order;   ///< the tables, by step
  Matrix sums;                        ///< [kTableVector x ...] of the devices' tables, the policy's vectors
  Matrix parts;                       ///< [2 x ...] predicted parts of the devices' times
  Matrix probabilities;               ///< [devices x steps episodes]
  std::vector<std::uint32_t> chosen;  ///< [steps episodes]
  std::vector<std::optional<Plan>> plans;
  std::vector<double> totals;  ///< predicted, in units; of plans that there are
};

/// DreamShard's policy (Zha et al., arXiv 2210.02023): for each table, the costliest first, a device gets the
/// score
///
///   [ sum of its tables' vectors, predicted parts of its time -> 64 -> 32 ] -> 1
///
/// and the softmax over the devices with room decides. Vectors of its own: table features -> 128 -> 32.
class DreamShardPolicy final : public PlacementPolicy {
 public:
  /// Given the episode and the probabilities, the device.
  using Choice = std::function<std::uint32_t(std::size_t, const Vector&)>;

  DreamShardPolicy(const PolicyScale& scale, std::uint64_t seed);

  [[nodiscard]] std::string_view method() const override { return "dreamshard"; }
  [[nodiscard]] std::optional<Plan> place(const Task& task) const override;
  [[nodiscard]] std::vector<NamedParameter> parameters() override;
  /// Parameters of the policy alone, and of the cost network.
  [[nodiscard]] std::vector<NamedParameter> policy_parameters();
  [[nodiscard]] std::vector<NamedParameter> cost_parameters();

  [[nodiscard]] DreamShardCosts& costs() { return costs_; }

  /// @param features scaled, of the task's tables
  [[nodiscard]] DreamShardEpisodes play(const Task& task, const Matrix& features, std::size_t episodes,
                                        const Choice& choice) const;

  /// Adds the gradients of  -advantage ln p - entropy_cost H,  summed over the steps, the mean of the
  /// episodes.
  /// @param advantages of each episode
  void learn(const Matrix& features, const DreamShardEpisodes& played, const Vector& advantages,
             double entropy_cost);

 private:
  DrawSequence draws_;  // before what it fills
  DreamShardCosts costs_;
  Dense tables_, parts_, score_;
};

}  // namespace lockstep::sharding::learned
