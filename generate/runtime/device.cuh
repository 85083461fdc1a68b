#pragma once

/// @file
/// The GPU of one rank: checked calls, launches, memory that kernels take their operands from.

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "generate/runtime/operands.cuh"

namespace benchmark {

/// A call of CUDA or a library that failed, or something that this machine cannot do.
class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& reason, const char* call);

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    fail(cudaGetErrorString(status), call);
  }
}

#define BENCHMARK_CHECK(call) ::benchmark::check((call), #call)

/// Puts work on a stream.
using Launch = std::function<void(cudaStream_t)>;

/// Blocks, threads and bytes of shared memory of a kernel.
struct Grid {
  dim3 blocks;
  unsigned threads = 256;
  std::size_t shared = 0;
};

/// kernel<<<grid>>>(arguments...)
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream, Arguments... arguments) {
  std::tuple<Parameters...> values{static_cast<Parameters>(arguments)...};
  std::apply(
      [&](auto&... value) {
        void* addresses[] = {static_cast<void*>(&value)...};
        BENCHMARK_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid.blocks,
                                         dim3{grid.threads}, addresses, grid.shared, stream));
      },
      values);
}

/// Memory of the current device, freed with it.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(address_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* address_ = nullptr;
};

/// Operands that launches have taken: at planned places, and in turn.
struct OperandCounts {
  std::uint64_t planned = 0, in_turn = 0;
};

/// Operands of launches. Those that the table names lie at their places in the planned memory. Others are
/// taken in turn: what one launch takes, no launch takes again before twice the level-2 cache has been taken.
/// Else the cache would hold what the kernels of a job find in memory.
class Arena {
 public:
  /// One launch will take so many bytes; before allocate().
  void need(std::int64_t bytes) { largest_ = std::max(largest_, padded(bytes)); }
  /// @param apart bytes between two uses. Filled with random numbers of @p type, unless that is empty
  void allocate(std::int64_t apart, const std::string& type, std::uint32_t seed);
  [[nodiscard]] char* take(std::int64_t bytes) {
    if (char* const planned = BoundOperands::take(is_written_, bytes)) {
      planned_.fetch_add(1, std::memory_order_relaxed);
      return planned;
    }
    in_turn_.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t begin = next_.fetch_add(padded(bytes), std::memory_order_relaxed);
    return memory_->as<char>() + begin % span_;
  }
  [[nodiscard]] std::int64_t bytes() const { return largest_ == 0 ? 0 : span_ + largest_; }
  void is_written() { is_written_ = true; }
  [[nodiscard]] OperandCounts counts() const { return {planned_.load(), in_turn_.load()}; }

 private:
  static std::int64_t padded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }
  std::int64_t largest_ = 0, span_ = 256;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::uint64_t> planned_{0}, in_turn_{0};
  bool is_written_ = false;
  std::unique_ptr<Memory> memory_;
};

/// Bytes of one element; of tf32 those of fp32. @throws Failure for an unknown type
[[nodiscard]] std::int64_t bytes_of_type(const std::string& type);

/// A GPU's memory for kernels: arenas by type, and memory of their own; handles of libraries.
class Device {
 public:
  Device(int device, std::uint32_t seed);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Arenas: input() has random numbers of a type for kernels to read, output() takes what they write.
  [[nodiscard]] Arena& input(const std::string& type) { return inputs_[type == "tf32" ? "fp32" : type]; }
  [[nodiscard]] Arena& output() { return output_; }

  /// Memory that stays, e.g. a table of embeddings: of random numbers of @p type, or of zeros if that is
  /// empty.
  [[nodiscard]] Memory& keep(std::int64_t bytes, const std::string& type);

  /// A handle of a library, made once: `device.library<CublasLt>()`.
  template <class Library>
  [[nodiscard]] Library& library() {
    static const char key = 0;
    auto& slot = libraries_[&key];
    if (!slot) {
      slot = std::make_shared<Library>();
    }
    return *static_cast<Library*>(slot.get());
  }

  /// Gives arenas their memory, after all kernels are made. @throws Failure if the GPU has too little: it
  /// says who holds how much
  void allocate();

  /// Makes room for tensors that have places of their own. @return where it begins
  [[nodiscard]] char* plan(std::int64_t bytes);
  [[nodiscard]] OperandCounts operand_counts() const;

  [[nodiscard]] int number() const { return device_; }
  [[nodiscard]] std::uint32_t seed() const { return seed_; }
  [[nodiscard]] const cudaDeviceProp& properties() const { return properties_; }

 private:
  int device_;
  std::uint32_t seed_;
  cudaDeviceProp properties_{};
  std::map<std::string, Arena> inputs_;
  Arena output_;
  std::unique_ptr<Memory> planned_;
  std::vector<std::unique_ptr<Memory>> kept_;
  std::map<const char*, std::shared_ptr<void>> libraries_;
};

/// Fills @p memory with random numbers of @p type from [-1, 1), the same for a seed.
void fill_random(Memory& memory, const std::string& type, std::uint32_t seed);

}  // namespace benchmark
