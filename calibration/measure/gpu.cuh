#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/units.hpp"
#include "calibration/measure/cuda_error.cuh"

namespace lockstep {

/// A CUDA stream of the device that was current; destroyed with it.
class Stream {
 public:
  Stream() { LOCKSTEP_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  operator cudaStream_t() const { return stream_; }  // NOLINT: it stands for the handle everywhere

 private:
  cudaStream_t stream_ = nullptr;
};

/// A CUDA event, with time unless @p flags say otherwise.
class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    LOCKSTEP_CHECK(cudaEventCreateWithFlags(&event_, flags));
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
  operator cudaEvent_t() const { return event_; }  // NOLINT: as above

 private:
  cudaEvent_t event_ = nullptr;
};

/// Time on the GPU between two events that have happened.
[[nodiscard]] Seconds between(const Event& first, const Event& second);

/// Memory of one kind, freed with it. Launches hold it by shared pointers.
class Memory {
 public:
  enum class Kind { Device, Pinned };

  /// @throws CudaError where there is not enough
  Memory(Kind kind, std::size_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(address_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Kind kind_;
  std::size_t bytes_;
  void* address_ = nullptr;
};

using SharedMemory = std::shared_ptr<Memory>;

/// On the current device, at least one byte. @throws CudaError
[[nodiscard]] SharedMemory device_memory(std::int64_t bytes);
/// As device_memory(), all bytes 0. @throws CudaError
[[nodiscard]] SharedMemory zeros(std::int64_t bytes);
/// @throws CudaError
[[nodiscard]] SharedMemory pinned_memory(std::int64_t bytes);

/// Uniform numbers of [-1, 1) of a type (fp32, tf32, fp16, bf16, fp8), always the same for a seed: zeros
/// would switch fewer transistors and so run at higher clocks.
[[nodiscard]] SharedMemory random_numbers(const std::string& type, std::int64_t count, std::uint32_t seed);

/// The GPU that is measured: a stream, cuBLAS, and a buffer with which its L2 cache can be flushed.
class Gpu {
 public:
  /// Makes it current. @throws CudaError
  explicit Gpu(int device);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] cublasHandle_t blas() const { return blas_; }
  [[nodiscard]] cublasLtHandle_t blas_lt() const { return blas_lt_; }
  [[nodiscard]] const SharedMemory& workspace() const { return workspace_; }

  /// Reads twice the size of L2, at least 64 MiB, so that it holds clean lines of nothing that is measured.
  /// (Writing would leave lines behind whose writing back the next kernel pays for.)
  void flush_cache(cudaStream_t stream) const;

  /// Keeps the stream busy, so that the host can queue what is to run without gaps after it.
  void keep_busy(cudaStream_t stream, Seconds time) const;

 private:
  int device_;
  Stream stream_;
  SharedMemory flushed_;
  SharedMemory workspace_;  ///< of cuBLAS: 32 MiB, as PyTorch gives it on Hopper
  cublasHandle_t blas_ = nullptr;
  cublasLtHandle_t blas_lt_ = nullptr;
};

}  // namespace lockstep
