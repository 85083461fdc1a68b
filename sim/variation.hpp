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
      : kernels_{std::move(kernels).value_or(none())}, host_{std::move(host).value_or(none())} {
    host_.share_table(kernels_);
  }

  /// Factor on a kernel's duration; @p where as in StreamItem.
  [[nodiscard]] double kernel(std::uint32_t rank, std::uint32_t step, std::uint32_t where) const {
    return kernel_row(rank, step).factor(where);
  }
  /// Factor on an instruction's host time.
  [[nodiscard]] double host(std::uint32_t rank, std::uint32_t step, std::uint32_t where) const {
    return host_row(rank, step).factor(where);
  }

  /// The factors on kernels' durations of one rank in one step, by StreamItem::where.
  [[nodiscard]] Jitter::Row kernel_row(std::uint32_t rank, std::uint32_t step) const {
    return kernels_.from(first(rank, step));
  }

  /// On instructions' host times, likewise.
  [[nodiscard]] Jitter::Row host_row(std::uint32_t rank, std::uint32_t step) const {
    return host_.from(first(rank, step));
  }

 private:
  static Jitter none() { return Jitter{JitterSpec{}, Random{0, "none"}}; }
  static std::uint64_t first(std::uint32_t rank, std::uint32_t step) {
    return (std::uint64_t{rank} << 32U) + step * 0x9e3779b97f4a7c15ULL;
  }
  Jitter kernels_ = none();
  Jitter host_ = none();
};

}  // namespace lockstep
