#pragma once

#include "calibration/measure/cuda_error.cuh"

namespace lockstep {

/// Arguments of a kernel, passed by value.
template <int Bytes>
struct Arguments {
  char bytes[Bytes];
};

inline __global__ void empty_kernel() {}

template <int Bytes>
__global__ void empty_kernel_with(Arguments<Bytes> /*arguments*/) {}

inline void launch_empty_kernel(cudaStream_t stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  LOCKSTEP_CHECK(cudaGetLastError());
}

}  // namespace lockstep
