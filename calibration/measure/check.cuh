#pragma once

#include <functional>
#include <string>

#include "calibration/measure/gpu.cuh"

namespace lockstep {

/// Compares what the program's own kernels, and cuBLAS as they call it, leave in memory with what the host
/// computes in double precision, and tells each relative error ||got - expected|| / ||expected||.
/// @return whether all are within what their types allow. @throws CudaError
[[nodiscard]] bool check_kernels(const Gpu& gpu, const std::function<void(const std::string&)>& tell);

}  // namespace lockstep
