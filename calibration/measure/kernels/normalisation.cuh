#pragma once

/// @file
/// Softmax and layer norm over the rows of a matrix, forward and backward.

#include "calibration/measure/kernels/element_types.cuh"
#include "calibration/measure/kernels/row_threads.cuh"

namespace lockstep {

inline constexpr float kEpsilon = 1e-5F;

extern __shared__ float row_cache[];  ///< the rows of a block, in float

/// y = exp(x - max) / sum; the row is read once.
template <class T, class Threads>
__global__ void softmax(const T* x, T* y, std::int64_t rows, std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  float* cached = row_cache + Threads::row_in_block() * columns;
  const T* from = x + Threads::row() * columns;
  float largest = -INFINITY;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    cached[i] = to_float(from[i]);
    largest = fmaxf(largest, cached[i]);
  }
  largest = Threads::max(largest);
  float sum = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    cached[i] = __expf(cached[i] - largest);
    sum += cached[i];
  }
  const float scale = 1.0F / Threads::sum(sum);
  T* to = y + Threads::row() * columns;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    to[i] = from_float<T>(cached[i] * scale);
  }
}

/// dx = y (dy - sum(y dy)); the second reading finds the row in a cache.
template <class T, class Threads>
__global__ void softmax_backward(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  const std::int64_t first = Threads::row() * columns;
  float product = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    product += to_float(y[first + i]) * to_float(dy[first + i]);
  }
  product = Threads::sum(product);
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    dx[first + i] = from_float<T>(to_float(y[first + i]) * (to_float(dy[first + i]) - product));
  }
}

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias; the row is read once.
template <class T, class Threads>
__global__ void layer_norm(const T* x, const T* weight, const T* bias, T* y, std::int64_t rows,
                           std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  float* cached = row_cache + Threads::row_in_block() * columns;
  const T* from = x + Threads::row() * columns;
  float sum = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    cached[i] = to_float(from[i]);
    sum += cached[i];
  }
  const float mean = Threads::sum(sum) / static_cast<float>(columns);
  float squares = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    squares += (cached[i] - mean) * (cached[i] - mean);
  }
  const float scale = rsqrtf(Threads::sum(squares) / static_cast<float>(columns) + kEpsilon);
  T* to = y + Threads::row() * columns;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    to[i] = from_float<T>((cached[i] - mean) * scale * to_float(weight[i]) + to_float(bias[i]));
  }
}

/// dx = g - mean(g) - x mean(g x) with g = dy weight, for rows of mean 0 and deviation 1.
template <class T, class Threads>
__global__ void layer_norm_backward(const T* x, const T* dy, const T* weight, T* dx, std::int64_t rows,
                                    std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  const std::int64_t first = Threads::row() * columns;
  float sum = 0;
  float product = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    const float g = to_float(dy[first + i]) * to_float(weight[i]);
    sum += g;
    product += g * to_float(x[first + i]);
  }
  sum = Threads::sum(sum) / static_cast<float>(columns);
  product = Threads::sum(product) / static_cast<float>(columns);
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    const float g = to_float(dy[first + i]) * to_float(weight[i]);
    dx[first + i] = from_float<T>(g - sum - to_float(x[first + i]) * product);
  }
}

/// Adds sum(dy x) and sum(dy) of each column to gradient; a block takes 32 columns of up to 256 rows.
inline constexpr std::int64_t kGradientRows = 256;
template <class T>
__global__ void weight_gradient(const T* x, const T* dy, float* gradient, std::int64_t rows,
                                std::int64_t columns) {
  __shared__ float parts[2][kThreads / 32][32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::int64_t column = blockIdx.x * 32LL + lane;
  const std::int64_t end = min(rows, (blockIdx.y + 1) * kGradientRows);
  float of_weight = 0;
  float of_bias = 0;
  for (std::int64_t row = blockIdx.y * kGradientRows + warp; row < end; row += kThreads / 32) {
    const float g = to_float(dy[row * columns + column]);
    of_weight += g * to_float(x[row * columns + column]);
    of_bias += g;
  }
  parts[0][warp][lane] = of_weight;
  parts[1][warp][lane] = of_bias;
  __syncthreads();
  if (warp < 2) {
    float sum = 0;
    for (const auto& of_warp : parts[warp]) {
      sum += of_warp[lane];
    }
    atomicAdd(gradient + warp * columns + column, sum);
  }
}

}  // namespace lockstep
