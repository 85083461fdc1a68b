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

/// The table's reuse bins; where it comes without (a scenario's), those of its index model
/// (ops/kernels/index_model.hpp) in @p batch samples.
[[nodiscard]] ReuseBins reuse_of(const Table& table, std::int64_t batch);

/// [kFeatures x tables], as they are.
[[nodiscard]] Matrix raw_features(const Task& task);

[[nodiscard]] FeatureScale scale_of(std::span<const Matrix> raw);
[[nodiscard]] Matrix scaled(Matrix raw, const FeatureScale& scale);

}  // namespace lockstep::sharding::learned
