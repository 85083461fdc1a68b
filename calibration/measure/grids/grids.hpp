#pragma once

/// @file
/// The families, one function each, for the table in families.cpp.

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibration/measure/family.hpp"

namespace lockstep {

[[nodiscard]] Family gemm_family();
[[nodiscard]] Family memory_family();
[[nodiscard]] Family elementwise_family();
[[nodiscard]] Family reduction_family();
[[nodiscard]] Family normalisation_family();
[[nodiscard]] Family embedding_family();
[[nodiscard]] Family copy_family();
[[nodiscard]] Family host_call_family();
[[nodiscard]] Family interference_family();
[[nodiscard]] Family collective_family();

/// first, first * factor, ... up to last, which is in it only where it is hit.
[[nodiscard]] std::vector<std::int64_t> geometric(std::int64_t first, std::int64_t last, std::int64_t factor);

/// Bytes of an element of fp32, tf32, fp16, bf16, fp8. @throws std::logic_error for another name
[[nodiscard]] std::int64_t bytes_of_type(const std::string& type);

/// Whether the GPU has arithmetic of that type: tf32 and bf16 from compute capability 8.0, fp8 from 8.9.
[[nodiscard]] bool has_type(const MachineLimits& limits, const std::string& type);

/// Points, each of them once: what was added before is not added again.
class PointSet {
 public:
  void add(GridPoint point);
  [[nodiscard]] std::vector<GridPoint> points() && { return std::move(points_); }

 private:
  std::vector<GridPoint> points_;
  std::set<std::string> keys_;
};

/// Operations on matrices of FP32, FP16 and BF16.
struct MatrixGrid {
  std::vector<std::string> operations;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  std::int64_t element_bytes = 0;  ///< of all arrays of an operation in FP32, for one element of the matrix
};

/// Every combination that the GPU can do and that takes at most half of its memory.
[[nodiscard]] std::vector<GridPoint> matrix_points(const MatrixGrid& grid, const MachineLimits& limits);

}  // namespace lockstep
