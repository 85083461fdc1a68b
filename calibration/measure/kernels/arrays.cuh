#pragma once

/// @file
/// Arrays that are read, written, copied and added, as fast as memory lets them.

#include "calibration/measure/kernels/launch_size.cuh"

namespace lockstep {

/// Each thread 16 bytes at a time, the grid in strides: four waves of blocks of any GPU's size.
inline constexpr unsigned kMostBlocks = 132 * 8 * 4;

inline __global__ void read_array(const float4* b, float* never, std::int64_t count) {
  float seen = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::int64_t i = thread_index(); i < count; i += stride) {
    const float4 x = b[i];
    seen += x.x + x.y + x.z + x.w;
  }
  if (seen == 12345.678F) {
    *never = seen;
  }
}

inline __global__ void write_array(float4* a, std::int64_t count, float value) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = thread_index(); i < count; i += stride) {
    a[i] = {value, value, value, value};
  }
}

inline __global__ void copy_array(float4* __restrict__ a, const float4* __restrict__ b, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::int64_t i = thread_index(); i < count; i += stride) {
    a[i] = b[i];
  }
}

inline __global__ void triad(float4* __restrict__ a, const float4* __restrict__ b,
                             const float4* __restrict__ c, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::int64_t i = thread_index(); i < count; i += stride) {
    const float4 x = b[i];
    const float4 y = c[i];
    a[i] = {x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w};
  }
}

}  // namespace lockstep
