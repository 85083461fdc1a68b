#pragma once

/// @file
/// Sums of a matrix: by row, by column, of all.

#include "calibration/measure/kernels/element_types.cuh"
#include "calibration/measure/kernels/launch_size.cuh"

namespace lockstep {

/// The sum over a block, on its first thread.
__device__ inline float sum_over_block(float x) {
  __shared__ float sums[kThreads / 32];
  x = sum_over(x, 32);
  if (threadIdx.x % 32 == 0) {
    sums[threadIdx.x / 32] = x;
  }
  __syncthreads();
  x = threadIdx.x < kThreads / 32 ? sums[threadIdx.x] : 0.0F;
  return threadIdx.x < 32 ? sum_over(x, 32) : 0.0F;
}

template <class T>
__device__ float sum_of_vector(const T* x) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const auto xs = *reinterpret_cast<const Vector<T, kWidth>*>(x);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    sum += to_float(xs.at[i]);
  }
  return sum;
}

/// A block for each row.
template <class T>
__global__ void sum_rows(const T* x, float* sums, std::int64_t columns) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const T* row = x + blockIdx.x * columns;
  float sum = 0;
  for (std::int64_t i = threadIdx.x * kWidth; i < columns; i += kThreads * kWidth) {
    sum += sum_of_vector(row + i);
  }
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
  }
}

/// A block takes 32 columns of up to kRowsOfASum rows, a warp a row at a time, and adds its sums to what is
/// there.
inline constexpr std::int64_t kRowsOfASum = 256;
template <class T>
__global__ void sum_columns(const T* x, float* sums, std::int64_t rows, std::int64_t columns) {
  constexpr int kWarps = kThreads / 32;
  __shared__ float parts[kWarps][32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::int64_t column = blockIdx.x * 32LL + lane;
  const std::int64_t end = min(rows, (blockIdx.y + 1) * kRowsOfASum);
  float sum = 0;
  for (std::int64_t row = blockIdx.y * kRowsOfASum + warp; row < end; row += kWarps) {
    sum += to_float(x[row * columns + column]);
  }
  parts[warp][lane] = sum;
  __syncthreads();
  if (warp == 0) {
    for (int other = 1; other < kWarps; ++other) {
      sum += parts[other][lane];
    }
    atomicAdd(sums + column, sum);
  }
}

template <class T>
__global__ void sum_all(const T* x, float* total, std::int64_t count) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * kWidth;
  float sum = 0;
  for (std::int64_t i = thread_index() * kWidth; i < count; i += stride) {
    sum += sum_of_vector(x + i);
  }
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) {
    atomicAdd(total, sum);
  }
}

}  // namespace lockstep
