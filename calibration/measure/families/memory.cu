#include "calibration/measure/families/memory.cuh"

#include <algorithm>

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/kernels/arrays.cuh"

namespace lockstep {
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
