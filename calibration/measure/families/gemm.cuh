#pragma once

#include "calibration/measure/gpu_experiments.cuh"
#include "calibration/measure/grid_point.hpp"

namespace lockstep {

/// The product of a point of the family gemm, its operands filled with random numbers. Alpha is 1, beta 0;
/// sums are in FP32. `cublas` is cublasGemmEx or its strided batch, as PyTorch calls it; `cublaslt` is
/// cublasLtMatmul with the algorithm that its heuristic names first. @throws CudaError where the library has
/// no kernel for it
[[nodiscard]] Launch gemm_launch(const Gpu& gpu, const GridPoint& point);

}  // namespace lockstep
