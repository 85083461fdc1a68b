#pragma once

#include <cstdint>
#include <string>

#include "calibration/measure/gpu_experiments.cuh"

namespace lockstep {

/// Sums of a matrix of random numbers of seed 1, row by row. Sums of columns and of all are added to what is
/// there.
struct ReductionArrays {
  SharedMemory x;
  SharedMemory sums;  ///< fp32: rows, columns or one; zero before the first launch
  Launch launch;
};

/// @p operation sum_of_row, sum_of_column or sum_of_all; @p columns a multiple of 128.
/// @throws std::logic_error for an unknown operation or type, CudaError
[[nodiscard]] ReductionArrays reduction(const std::string& operation, const std::string& type,
                                        std::int64_t rows, std::int64_t columns);

}  // namespace lockstep
