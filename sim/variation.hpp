#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/jitter.hpp"

namespace lockstep {

/// What makes equal ranks unequal: seeded jitter of kernels and of host work, drawn per rank, step and
/// instruction, so that a draw depends on neither the engine nor the order of execution.
class Variation {
 public:
  Variation() = default;
  Variation(std::optional<Jitter> kernels, std::optional<Jitter> host)
      : kernels_{std::move(kernels)}, host_{std::move(host)} {}

  /// Factor on a kernel's duration; @p where as in StreamItem.
  [[nodiscard]] double kernel(std::uint32_t rank, std::uint32_t step, std::uint32_t where) const {
    return kernels_ ? kernels_->factor(key(rank, step, where)) : 1.0;
  }

  /// Factor on an instruction's host time.
  [[nodiscard]] double host(std::uint32_t rank, std::uint32_t step, std::uint32_t where) const {
    return host_ ? host_->factor(key(rank, step, where)) : 1.0;
  }

 private:
  static std::uint64_t key(std::uint32_t rank, std::uint32_t step, std::uint32_t where) {
    return (static_cast<std::uint64_t>(rank) << 32 | where) + step * 0x9e3779b97f4a7c15ULL;
  }
  std::optional<Jitter> kernels_;
  std::optional<Jitter> host_;
};

}  // namespace lockstep
