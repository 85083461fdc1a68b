#pragma once

#include "calibration/measure/kernels/launch_size.cuh"

namespace lockstep {

/// How a block of kThreads threads divides into rows: a warp for each short row (up to 1024 columns, as
/// PyTorch's softmax), the whole block for a long one.
template <int Width>
struct RowThreads {
  static constexpr int kWidth = Width;  ///< threads of a row: 32 or kThreads
  static constexpr int kRows = kThreads / Width;

  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % Width; }
  [[nodiscard]] __device__ static int row_in_block() { return static_cast<int>(threadIdx.x) / Width; }
  [[nodiscard]] __device__ static std::int64_t row() {
    return blockIdx.x * static_cast<std::int64_t>(kRows) + row_in_block();
  }

  /// On all threads of the row; all threads of the block call it.
  [[nodiscard]] __device__ static float sum(float x) {
    return over_row(
        sum_over(x, 32), [](float a, float b) { return a + b; }, 0.0F);
  }
  [[nodiscard]] __device__ static float max(float x) {
    return over_row(
        max_over(x, 32), [](float a, float b) { return fmaxf(a, b); }, -INFINITY);
  }

 private:
  template <class F>
  [[nodiscard]] __device__ static float over_row(float of_warp, F combine, float nothing) {
    if constexpr (Width == 32) {
      return of_warp;
    } else {
      __shared__ float of_warps[kThreads / 32];
      if (threadIdx.x % 32 == 0) {
        of_warps[threadIdx.x / 32] = of_warp;
      }
      __syncthreads();
      float all = nothing;
      for (const float one : of_warps) {
        all = combine(all, one);
      }
      __syncthreads();
      return all;
    }
  }
};

}  // namespace lockstep
