#pragma once

#include "calibration/measure/kernels/element_types.cuh"

namespace lockstep {

/// data[i] = random_number(i, seed), rounded to its type.
template <class T>
__global__ void fill(T* data, std::int64_t count, std::uint32_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    data[i] = static_cast<T>(random_number(static_cast<std::uint64_t>(i), seed));
  }
}

}  // namespace lockstep
