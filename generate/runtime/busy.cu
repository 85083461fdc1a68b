#include <algorithm>

#include "calibration/measure/kernels/launch_size.cuh"
#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

/// Nanoseconds of a clock that all SMs share.
__device__ inline unsigned long long global_time() {
#ifdef __CUDA_ARCH__
  unsigned long long time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
#else
  return 0;
#endif
}

/// Reads @p data until @p nanoseconds after the block began; waits if there are none.
__global__ void hold(const float4* data, float* never, std::int64_t count, unsigned long long nanoseconds) {
  const unsigned long long end = global_time() + nanoseconds;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = lockstep::thread_index();
  float seen = 0;
  do {
    if (count > 0) {
      const float4 x = data[i % count];
      seen += x.x + x.y + x.z + x.w;
      i += stride;
    }
  } while (global_time() < end);
  if (seen == 12345.678F) {
    *never = seen;
  }
}

constexpr double kStart = 1e-6;  // from the launch of a grid to its first block and back, seen on an H100

}  // namespace

Launch make_delay(double seconds) {
  const auto nanoseconds = static_cast<unsigned long long>(1e9 * std::max(seconds - kStart, 0.0));
  return [=](cudaStream_t stream) {
    launch(hold, Grid{dim3{1}, 32}, stream, nullptr, nullptr, 0, nanoseconds);
  };
}

Launch make_busy(Device& device, double seconds, bool reads) {
  const auto nanoseconds = static_cast<unsigned long long>(1e9 * std::max(seconds - kStart, 0.0));
  const Grid grid{dim3{static_cast<unsigned>(device.properties().multiProcessorCount) * 4}};
  const std::int64_t bytes = 2 * static_cast<std::int64_t>(device.properties().l2CacheSize);
  Arena& arena = device.input("fp32");
  arena.need(reads ? bytes : 256);
  return [=, &arena](cudaStream_t stream) {
    char* const data = arena.take(reads ? bytes : 256);
    launch(hold, grid, stream, reinterpret_cast<const float4*>(data), reinterpret_cast<float*>(data),
           reads ? bytes / 16 : 0, nanoseconds);
  };
}

}  // namespace benchmark
