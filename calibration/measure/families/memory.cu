#include "calibration/measure/families/memory.cuh"

#include <algorithm>

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/families/launch_size.cuh"

namespace lockstep {
namespace {

/// Each thread 16 bytes at a time, the grid in strides: four waves of blocks of any GPU's size.
constexpr unsigned kMostBlocks = 132 * 8 * 4;

__global__ void read_array(const float4* b, float* never, std::int64_t count) {
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

__global__ void write_array(float4* a, std::int64_t count, float value) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = thread_index(); i < count; i += stride) {
    a[i] = {value, value, value, value};
  }
}

__global__ void copy_array(float4* __restrict__ a, const float4* __restrict__ b, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::int64_t i = thread_index(); i < count; i += stride) {
    a[i] = b[i];
  }
}

__global__ void triad(float4* __restrict__ a, const float4* __restrict__ b, const float4* __restrict__ c,
                      std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::int64_t i = thread_index(); i < count; i += stride) {
    const float4 x = b[i];
    const float4 y = c[i];
    a[i] = {x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w};
  }
}

}  // namespace

Launch memory_launch(const std::string& pattern, std::int64_t bytes) {
  const std::int64_t floats = bytes / 4;
  const std::int64_t count = bytes / 16;
  const unsigned blocks = std::min(blocks_for(count, kThreads), kMostBlocks);
  const SharedMemory a = random_numbers("fp32", floats, 1);
  if (pattern == "write") {
    return [=](cudaStream_t stream) {
      write_array<<<blocks, kThreads, 0, stream>>>(a->as<float4>(), count, 0.5F);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  if (pattern == "read") {
    return [=](cudaStream_t stream) {
      read_array<<<blocks, kThreads, 0, stream>>>(a->as<float4>(), a->as<float>(), count);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  const SharedMemory b = random_numbers("fp32", floats, 2);
  if (pattern == "copy") {
    return [=](cudaStream_t stream) {
      copy_array<<<blocks, kThreads, 0, stream>>>(a->as<float4>(), b->as<float4>(), count);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  const SharedMemory c = random_numbers("fp32", floats, 3);
  return [=](cudaStream_t stream) {
    triad<<<blocks, kThreads, 0, stream>>>(a->as<float4>(), b->as<float4>(), c->as<float4>(), count);
    LOCKSTEP_CHECK(cudaGetLastError());
  };
}

std::unique_ptr<Experiment> memory_experiment(const Gpu& gpu, const GridPoint& point) {
  const Cache cache = point.text("cache") == "cold" ? Cache::Cold : Cache::Warm;
  return gpu_experiment(gpu, cache, memory_launch(point.text("pattern"), point.integer("bytes")));
}

}  // namespace lockstep
