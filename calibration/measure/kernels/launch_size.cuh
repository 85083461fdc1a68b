#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lockstep {

constexpr int kThreads = 256;

/// Blocks of @p per_block items that hold @p items.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

/// The index of this thread among all.
__device__ inline std::int64_t thread_index() {
  return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

/// The sum over the 2^k threads of a part of a warp of @p width, on all of them.
__device__ inline float sum_over(float x, int width) {
  for (int step = width / 2; step > 0; step /= 2) {
    x += __shfl_xor_sync(0xffffffffU, x, step, width);
  }
  return x;
}

__device__ inline float max_over(float x, int width) {
  for (int step = width / 2; step > 0; step /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, step, width));
  }
  return x;
}

}  // namespace lockstep
