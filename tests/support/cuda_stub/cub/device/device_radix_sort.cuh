#pragma once

#include "../../cuda_runtime.h"

namespace cub {
struct DeviceRadixSort {
  template <class Key, class Value>
  static cudaError_t SortPairs(void* workspace, std::size_t& bytes, const Key* keys, Key*, const Value*,
                               Value*, int /*count*/, int, int, cudaStream_t stream) {
    bytes = 256;
    return workspace == nullptr ? cudaSuccess : cudaLaunchKernel(keys, {}, {}, nullptr, 0, stream);
  }
};
}  // namespace cub
