#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "search/learned/autoshard_costs.hpp"
#include "search/learned/lstm.hpp"
#include "search/learned/placement_policy.hpp"
#include "search/learned/placing.hpp"

namespace lockstep::sharding::learned {

/// One placement of all tables, and what learning from it needs: a column for each step, or for each device
/// of each step.
struct AutoShardEpisode {
  LstmPass lower, upper;
  Matrix assigned;       ///< [1 x steps] share of the tables that are placed
  Matrix sums;           ///< [kTableVector x steps devices] of the devices' tables
  Matrix devices;        ///< [2 x steps devices] predicted cost, share of the memory filled
  Matrix probabilities;  ///< [devices x steps]
  std::vector<std::uint32_t> chosen;
  std::optional<Plan> plan;  ///< nothing: a table found no room
  double lacking = 0;        ///< then what it lacked, as a share of a device's memory
};

/// AutoShard's policy (Zha et al., arXiv 2208.06399): an LSTM sees the tables, the costliest first, and
/// scores the devices for each.
///
///   state    two LSTM layers of 64 over [ table's vector, MLP(share of tables placed) ]
///   device   [ sum of its tables' vectors, MLP(predicted cost, memory filled) ]
///   score    [ state, device, state x device ] -> 128 -> 128 -> 64 -> 1, softmax over devices with room
///   value    state -> 64 -> 1
///
/// Vectors and predicted costs are those of the cost network, which learns from measurements only.
class AutoShardPolicy final : public PlacementPolicy {
 public:
  /// Given the step and the probabilities, the device.
  using Choice = std::function<std::uint32_t(std::size_t, const Vector&)>;

  AutoShardPolicy(const PolicyScale& scale, std::uint64_t seed);

  [[nodiscard]] std::string_view method() const override { return "autoshard"; }
  [[nodiscard]] std::optional<Plan> place(const Task& task) const override;
  [[nodiscard]] std::vector<NamedParameter> parameters() override;
  /// Parameters of the policy alone, and of the cost network.
  [[nodiscard]] std::vector<NamedParameter> policy_parameters();
  [[nodiscard]] std::vector<NamedParameter> cost_parameters();

  [[nodiscard]] AutoShardCosts& costs() { return costs_; }

  /// @param features scaled, of the task's tables
  [[nodiscard]] AutoShardEpisode play(const Task& task, const Matrix& features, const Choice& choice) const;

  /// Adds the gradients of an actor-critic loss, summed over the steps: with advantage A = reward - value,
  /// and as the actors that it was played by are up to date, V-trace's weights are 1 (Espeholt et al., arXiv
  /// 1802.01561):  -A ln p - entropy_cost H + 1/4 (value - reward)^2
  /// @return the values
  Vector learn(const AutoShardEpisode& episode, double reward, double entropy_cost);

 private:
  [[nodiscard]] AutoShardEpisode not_played_yet(Eigen::Index tables, Eigen::Index devices) const;
  void decide(AutoShardEpisode& episode, Placing& placing, const Vector& state, const Choice& choice) const;

  DrawSequence draws_;  // before what it fills
  AutoShardCosts costs_;
  Dense progress_, device_, score_, value_;
  LstmLayer lower_, upper_;
};

}  // namespace lockstep::sharding::learned
