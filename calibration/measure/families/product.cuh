#pragma once

#include <cublas_v2.h>

#include <cstdint>

#include "calibration/measure/gpu_experiments.cuh"
#include "calibration/measure/grid_point.hpp"

namespace lockstep {

/// cuBLAS counts columns first, so the row-major C = A B is its C' = B' A': its first operand is B, its m our
/// n.
struct Product {
  std::int64_t m, n, k, batch;
  cublasOperation_t b_operation, a_operation;
  std::int64_t b_leading, a_leading;
  cudaDataType type;
  cublasComputeType_t compute;
  SharedMemory a, b, c;
};

/// Of a point of the family gemm; A, B and C are random numbers of seeds 1 to 3. @throws CudaError
[[nodiscard]] Product product_of(const GridPoint& point);

/// Through `cublas` or `cublaslt`. @throws CudaError where it has no kernel for the product
[[nodiscard]] Launch gemm_launch(const Gpu& gpu, const Product& product, const std::string& library);

/// Through cuBLASLt. @throws CudaError where it has no kernel for the product
[[nodiscard]] Launch blas_lt_launch(const Gpu& gpu, const Product& product);

}  // namespace lockstep
