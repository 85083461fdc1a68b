#include "calibration/measure/grids/grids.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep {

std::vector<std::int64_t> geometric(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; value *= factor) {
    values.push_back(value);
  }
  return values;
}

std::int64_t bytes_of_type(const std::string& type) {
  if (type == "fp32" || type == "tf32") {
    return 4;
  }
  if (type == "fp16" || type == "bf16") {
    return 2;
  }
  if (type == "fp8") {
    return 1;
  }
  throw std::logic_error{fmt::format("no such type: {}", type)};
}

bool has_type(const MachineLimits& limits, const std::string& type) {
  if (type == "tf32" || type == "bf16") {
    return limits.compute_capability >= 80;
  }
  return type != "fp8" || limits.compute_capability >= 89;
}

void PointSet::add(GridPoint point) {
  if (keys_.insert(point.key()).second) {
    points_.push_back(std::move(point));
  }
}

std::vector<GridPoint> matrix_points(const MatrixGrid& grid, const MachineLimits& limits) {
  PointSet points;
  for (const std::string& operation : grid.operations) {
    for (const char* type : {"fp32", "fp16", "bf16"}) {
      for (const std::int64_t rows : grid.rows) {
        for (const std::int64_t columns : grid.columns) {
          const auto bytes = static_cast<double>(grid.element_bytes * rows * columns);
          if (has_type(limits, type) && bytes <= limits.memory / Bytes{2}) {
            points.add(GridPoint{}
                           .set("operation", operation)
                           .set("type", type)
                           .set("rows", rows)
                           .set("columns", columns));
          }
        }
      }
    }
  }
  return std::move(points).points();
}

}  // namespace lockstep
