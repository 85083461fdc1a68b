#include "search/learned/table_features.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/kernels/index_model.hpp"

namespace lockstep::sharding::learned {
namespace {

constexpr Bytes kGiB{1024.0 * 1024 * 1024};
constexpr int kPoints = 200;  // a hundredth of a bin more or less is no news to a network

}  // namespace

ReuseBins reuse_of(const Table& table, std::int64_t batch) {
  const bool is_given = std::ranges::any_of(table.reuse, [](double share) { return share > 0; });
  if (is_given || table.shape.pooling_factor <= 0) {
    return table.reuse;
  }
  return reuse_bins(index_model(table.shape), static_cast<double>(batch) * table.shape.pooling_factor,
                    kPoints);
}

Matrix raw_features(const Task& task) {
  Matrix features(kFeatures, static_cast<Eigen::Index>(task.tables.size()));
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    const Table& table = task.tables[i];
    auto column = features.col(static_cast<Eigen::Index>(i));
    column[0] = static_cast<double>(table.shape.dimension);
    column[1] = static_cast<double>(table.shape.rows);
    column[2] = table.shape.pooling_factor;
    column[3] = task.size_of(i, table.shape.dimension) / kGiB;
    const ReuseBins reuse = reuse_of(table, task.batch);
    for (std::size_t bin = 0; bin < reuse.size(); ++bin) {
      column[static_cast<Eigen::Index>(kScaledFeatures + bin)] = reuse[bin];
    }
  }
  return features;
}

FeatureScale scale_of(std::span<const Matrix> raw) {
  FeatureScale scale;
  for (std::size_t f = 0; f < kScaledFeatures; ++f) {
    double sum = 0, squares = 0, count = 0;
    for (const Matrix& features : raw) {
      const auto row = features.row(static_cast<Eigen::Index>(f));
      sum += row.sum();
      squares += row.squaredNorm();
      count += static_cast<double>(row.size());
    }
    scale.mean[f] = sum / count;
    const double variance = squares / count - scale.mean[f] * scale.mean[f];
    // Tables that are alike but for rounding have no scale of their own.
    const bool differs = variance > 1e-12 * scale.mean[f] * scale.mean[f];
    scale.deviation[f] = differs ? std::sqrt(variance) : std::max(1.0, std::abs(scale.mean[f]));
  }
  return scale;
}

Matrix scaled(Matrix raw, const FeatureScale& scale) {
  for (std::size_t f = 0; f < kScaledFeatures; ++f) {
    auto row = raw.row(static_cast<Eigen::Index>(f)).array();
    row = (row - scale.mean[f]) / scale.deviation[f];
  }
  return raw;
}

}  // namespace lockstep::sharding::learned
