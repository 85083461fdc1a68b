#pragma once

#include <array>
#include <span>

#include "search/learned/parameter.hpp"
#include "search/sharding/task.hpp"

namespace lockstep::sharding::learned {

/// Dimension, rows, pooling factor, GiB, and the 17 reuse bins (AutoShard and DreamShard, arXiv 2208.06399
/// and 2210.02023).
inline constexpr Eigen::Index kFeatures = 21;
inline constexpr std::size_t kScaledFeatures = 4;  ///< all but the bins, which are shares already

/// Mean and deviation of the first four over the tables of all training tasks.
struct FeatureScale {
  std::array<double, kScaledFeatures> mean{}, deviation{1, 1, 1, 1};
  bool operator==(const FeatureScale&) const = default;
};

/// [kFeatures x tables], as they are. Of a table that comes without reuse bins (a scenario's), they are those
/// of its index model (ops/kernels/index_model.hpp) at the task's batch.
[[nodiscard]] Matrix raw_features(const Task& task);

[[nodiscard]] FeatureScale scale_of(std::span<const Matrix> raw);
[[nodiscard]] Matrix scaled(Matrix raw, const FeatureScale& scale);

}  // namespace lockstep::sharding::learned
