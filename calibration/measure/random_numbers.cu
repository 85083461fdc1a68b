#include <cuda_fp8.h>

#include "calibration/measure/gpu.cuh"
#include "calibration/measure/kernels/fill.cuh"

namespace lockstep {
namespace {

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
