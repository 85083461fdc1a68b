#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"

namespace lockstep {

/// What makes equal ranks unequal: seeded jitter of kernels and of host work, drawn per rank, step and
/// instruction, so that a draw depends on neither the engine nor the order of execution.
class Variation {
 public:
  Variation() = default;
  Variation(Jitter kernels, Jitter host)
      : kernels_{std::move(kernels)}, host_{std::move(host)}, active_{true} {}

  /// Factor on a kernel's duration; @p where as in StreamItem.
  [[nodiscard]] double kernel(std::uint32_t rank, std::uint32_t step, std::uint32_t where) const {
    return active_ ? kernels_.factor(key(rank, step, where)) : 1.0;
  }

  /// Factor on an instruction's host time.
  [[nodiscard]] double host(std::uint32_t rank, std::uint32_t step, std::uint32_t where) const {
    return active_ ? host_.factor(key(rank, step, where)) : 1.0;
  }

 private:
  static std::uint64_t key(std::uint32_t rank, std::uint32_t step, std::uint32_t where) {
    return (static_cast<std::uint64_t>(rank) << 32 | where) + step * 0x9e3779b97f4a7c15ULL;
  }
  Jitter kernels_;
  Jitter host_;
  bool active_ = false;
};

}  // namespace lockstep
