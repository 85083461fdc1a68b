#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/jitter.hpp"

namespace lockstep {

/// The factors of one rank in one step, by instruction; @p where as in StreamItem.
class Factors {
 public:
  Factors(const Jitter* jitter, std::uint32_t rank, std::uint32_t step)
      : jitter_{jitter}, first_{(std::uint64_t{rank} << 32U) + step * 0x9e3779b97f4a7c15ULL} {}

  [[nodiscard]] double operator()(std::uint32_t where) const {
    return jitter_ == nullptr ? 1.0 : jitter_->factor(first_ + where);
  }

 private:
  const Jitter* jitter_;  // null: none
  std::uint64_t first_;
};

/// What makes equal ranks unequal: seeded jitter of kernels and of host work, drawn per rank, step and
/// instruction, so that a draw depends on neither the engine nor the order of execution.
class Variation {
 public:
  Variation() = default;
  Variation(std::optional<Jitter> kernels, std::optional<Jitter> host)
      : kernels_{std::move(kernels)}, host_{std::move(host)} {}

  /// On kernels' durations.
  [[nodiscard]] Factors kernels(std::uint32_t rank, std::uint32_t step) const {
    return {kernels_ ? &*kernels_ : nullptr, rank, step};
  }

  /// On instructions' host times.
  [[nodiscard]] Factors host(std::uint32_t rank, std::uint32_t step) const {
    return {host_ ? &*host_ : nullptr, rank, step};
  }

 private:
  std::optional<Jitter> kernels_;
  std::optional<Jitter> host_;
};

}  // namespace lockstep
