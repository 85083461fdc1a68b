#pragma once

#include <cstdint>
#include <string>

#include "calibration/measure/gpu_experiments.cuh"

namespace lockstep {

/// `read`, `write`, `copy` or `triad` over arrays of @p bytes each, a multiple of 16. @throws CudaError
[[nodiscard]] Launch memory_launch(const std::string& pattern, std::int64_t bytes);

}  // namespace lockstep
