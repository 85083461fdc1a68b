#pragma once

#include <vector>

#include "search/learned/dense.hpp"
#include "search/learned/grouped_columns.hpp"
#include "search/learned/table_features.hpp"

namespace lockstep::sharding::learned {

/// Numbers of the vector that stands for a table, and of the sum that stands for a device's.
inline constexpr Eigen::Index kTableVector = 32;

/// Devices that were measured: their tables and what looking these up took.
struct MeasuredShards {
  Matrix features;  ///< [kFeatures x tables], of all shards
  Grouping shard;   ///< of each table
  Vector costs;     ///< of each shard, in units
};

/// AutoShard's cost network (Zha et al., arXiv 2208.06399): table features -> 128 -> 32, summed over a
/// device's tables -> 64 -> 1, the time of its fused lookup both ways. No exchange.
class AutoShardCosts {
 public:
  explicit AutoShardCosts(DrawSequence& draws)
      : tables_{{kFeatures, 128, kTableVector}, Dense::End::Relu, draws},
        head_{{kTableVector, 64, 1}, Dense::End::Linear, draws} {}

  /// [kFeatures x tables] -> [kTableVector x tables]
  [[nodiscard]] Matrix vectors(const Matrix& features) const { return tables_(features); }
  /// Costs of devices with these sums of vectors, in units.
  [[nodiscard]] Vector of_sums(const Matrix& sums) const { return head_(sums).row(0).transpose(); }

  /// Adds the gradients of the mean squared error. @return that error
  double learn(const MeasuredShards& measured);

  void list(std::vector<NamedParameter>& parameters);

 private:
  Dense tables_, head_;
};

}  // namespace lockstep::sharding::learned
