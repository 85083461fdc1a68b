#pragma once

#include <cstdint>
#include <string>

#include "calibration/measure/gpu_experiments.cuh"

namespace lockstep {

/// Inputs and output of an element-wise operation: random numbers of seeds 1 and 2.
struct Elementwise {
  SharedMemory x, y, result;
  Launch launch;
};

/// @p elements a multiple of 1024. @throws std::logic_error for an unknown operation or type, CudaError
[[nodiscard]] Elementwise elementwise(const std::string& operation, const std::string& type,
                                      std::int64_t elements);

}  // namespace lockstep
