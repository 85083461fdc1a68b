#pragma once

#include <cstdint>
#include <vector>

#include "search/learned/autoshard_costs.hpp"

namespace lockstep::sharding::learned {

/// Plans that were measured, all their devices.
struct MeasuredPlans {
  Matrix features;  ///< [kFeatures x tables], of all plans
  Grouping device;  ///< of each table, counted through all plans
  Grouping plan;    ///< of each device
  Matrix parts;     ///< [2 x devices] lookups both ways and exchanges both ways, in units
  Vector totals;    ///< of each plan, in units
};

/// DreamShard's cost network (Zha et al., arXiv 2210.02023): table features -> 128 -> 32, summed over a
/// device's tables; of such a sum 64 -> 1 for each part of the device's time; of the largest over the
/// devices, number by number, 64 -> 1 for the plan's.
class DreamShardCosts {
 public:
  static constexpr Eigen::Index kParts = 2;

  explicit DreamShardCosts(DrawSequence& draws)
      : tables_{{kFeatures, 128, kTableVector}, Dense::End::Relu, draws},
        compute_{{kTableVector, 64, 1}, Dense::End::Linear, draws},
        exchange_{{kTableVector, 64, 1}, Dense::End::Linear, draws},
        plan_{{kTableVector, 64, 1}, Dense::End::Linear, draws} {}

  /// [kFeatures x tables] -> [kTableVector x tables]
  [[nodiscard]] Matrix vectors(const Matrix& features) const { return tables_(features); }
  /// [kTableVector x devices] -> [kParts x devices], in units
  [[nodiscard]] Matrix parts(const Matrix& sums) const;
  /// The cost of the plan whose devices have these sums, in units.
  [[nodiscard]] double total(const Matrix& sums) const;

  /// Adds the gradients of the sum of the mean squared errors: of each part, and of the plans' totals.
  /// @return that sum
  double learn(const MeasuredPlans& measured);

  void list(std::vector<NamedParameter>& parameters);

 private:
  Dense tables_, compute_, exchange_, plan_;
};

}  // namespace lockstep::sharding::learned
