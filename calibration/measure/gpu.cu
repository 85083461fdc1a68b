#include "calibration/measure/gpu.cuh"

#include <algorithm>

namespace lockstep {
namespace {

__global__ void read_all(const uint4* data, std::size_t count, unsigned* never) {
  unsigned seen = 0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    const uint4 line = data[i];
    seen |= line.x | line.y | line.z | line.w;
  }
  if (seen == 0xffffffffU) {  // the buffer holds zeros: never, but the compiler cannot know
    *never = seen;
  }
}

__global__ void wait_for(std::uint64_t nanoseconds) {
  std::uint64_t begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  for (std::uint64_t now = begin; now - begin < nanoseconds;) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  }
}

std::int64_t flushed_bytes(int device) {
  int l2 = 0;
  LOCKSTEP_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  return std::max<std::int64_t>(2 * static_cast<std::int64_t>(l2), std::int64_t{64} << 20);
}

int made_current(int device) {
  LOCKSTEP_CHECK(cudaSetDevice(device));
  return device;
}

constexpr std::int64_t kWorkspace = std::int64_t{32} << 20;

}  // namespace

Seconds between(const Event& first, const Event& second) {
  float milliseconds = 0;
  LOCKSTEP_CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  return Seconds{milliseconds * 1e-3};
}

Memory::Memory(Kind kind, std::size_t bytes) : kind_{kind}, bytes_{bytes} {
  if (kind == Kind::Device) {
    LOCKSTEP_CHECK(cudaMalloc(&address_, bytes));
  } else {
    LOCKSTEP_CHECK(cudaHostAlloc(&address_, bytes, cudaHostAllocDefault));
  }
}

Memory::~Memory() {
  static_cast<void>(kind_ == Kind::Device ? cudaFree(address_) : cudaFreeHost(address_));
}

SharedMemory device_memory(std::int64_t bytes) {
  return std::make_shared<Memory>(Memory::Kind::Device,
                                  static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
}

SharedMemory zeros(std::int64_t bytes) {
  SharedMemory memory = device_memory(bytes);
  LOCKSTEP_CHECK(cudaMemset(memory->as<void>(), 0, memory->bytes()));
  LOCKSTEP_CHECK(cudaDeviceSynchronize());  // streams that are not the default one do not wait for it
  return memory;
}

SharedMemory pinned_memory(std::int64_t bytes) {
  return std::make_shared<Memory>(Memory::Kind::Pinned,
                                  static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
}

Gpu::Gpu(int device)
    : device_{made_current(device)},
      flushed_{zeros(flushed_bytes(device))},
      workspace_{device_memory(kWorkspace)} {
  LOCKSTEP_CHECK(cublasCreate(&blas_));
  LOCKSTEP_CHECK(cublasSetStream(blas_, stream_));
  LOCKSTEP_CHECK(cublasSetWorkspace(blas_, workspace_->as<void>(), workspace_->bytes()));
  LOCKSTEP_CHECK(cublasLtCreate(&blas_lt_));
}

Gpu::~Gpu() {
  static_cast<void>(cublasLtDestroy(blas_lt_));
  static_cast<void>(cublasDestroy(blas_));
}

void Gpu::flush_cache(cudaStream_t stream) const {
  read_all<<<1024, 256, 0, stream>>>(flushed_->as<uint4>(), flushed_->bytes() / sizeof(uint4),
                                     flushed_->as<unsigned>());
  LOCKSTEP_CHECK(cudaGetLastError());
}

void Gpu::keep_busy(cudaStream_t stream, Seconds time) const {
  wait_for<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(time / Seconds{1e-9}));
  LOCKSTEP_CHECK(cudaGetLastError());
}

}  // namespace lockstep
