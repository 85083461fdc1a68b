#pragma once

#include <cstddef>
#include <vector>

#include "search/learned/parameter.hpp"

namespace lockstep::sharding::learned {

/// The group that each column belongs to: the device of a table, the plan of a device.
using Grouping = std::vector<Eigen::Index>;

/// The sum of each group's columns; 0 for a group without any.
[[nodiscard]] inline Matrix sums_of_groups(const Matrix& columns, const Grouping& group,
                                           Eigen::Index groups) {
  Matrix sums = Matrix::Zero(columns.rows(), groups);
  for (std::size_t i = 0; i < group.size(); ++i) {
    sums.col(group[i]) += columns.col(static_cast<Eigen::Index>(i));
  }
  return sums;
}

/// For each column that of its group: the gradient of a sum.
[[nodiscard]] inline Matrix spread_to_columns(const Matrix& groups, const Grouping& group) {
  Matrix columns(groups.rows(), static_cast<Eigen::Index>(group.size()));
  for (std::size_t i = 0; i < group.size(); ++i) {
    columns.col(static_cast<Eigen::Index>(i)) = groups.col(group[i]);
  }
  return columns;
}

}  // namespace lockstep::sharding::learned
