#include <cuda_fp8.h>

#include "calibration/measure/element_types.cuh"
#include "calibration/measure/gpu.cuh"

namespace lockstep {
namespace {

template <class T>
__global__ void fill(T* data, std::int64_t count, std::uint32_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    data[i] = static_cast<T>(random_number(static_cast<std::uint64_t>(i), seed));
  }
}

template <class T>
SharedMemory filled(std::int64_t count, std::uint32_t seed) {
  SharedMemory memory = device_memory(count * static_cast<std::int64_t>(sizeof(T)));
  fill<<<1024, 256>>>(memory->as<T>(), count, seed);
  LOCKSTEP_CHECK(cudaGetLastError());
  LOCKSTEP_CHECK(cudaDeviceSynchronize());
  return memory;
}

}  // namespace

SharedMemory random_numbers(const std::string& type, std::int64_t count, std::uint32_t seed) {
  if (type == "fp8") {
    return filled<__nv_fp8_e4m3>(count, seed);
  }
  SharedMemory memory;
  with_type(type == "tf32" ? "fp32" : type, [&]<class T>(T) { memory = filled<T>(count, seed); });
  return memory;
}

}  // namespace lockstep
