#pragma once

#include <cstdint>
#include <utility>

#include "base/jitter.hpp"
#include "base/random.hpp"

namespace lockstep {

/// Makes equal ranks unequal by seeded jitter of kernels and of host work. It is drawn per rank, step and
/// instruction, so that a draw depends on neither the engine nor the order of execution.
class Variation {
 public:
  Variation() = default;
  Variation(Jitter kernels, Jitter host, const Random& random)
      : kernels_{std::move(kernels)}, host_{std::move(host)}, random_{random} {
    host_.share_table(kernels_);
  }

  /// Draws of one rank in one step, by StreamItem::where. One random number of an instruction is for both.
  class Row {
   public:
    [[nodiscard]] std::uint64_t draw(std::uint32_t where) const { return varies_ ? random_.bits(where) : 0; }
    /// On the kernel's duration.
    [[nodiscard]] double kernel(std::uint64_t draw) const {
      return kernels_.factor(static_cast<std::uint32_t>(draw >> 32U));
    }
    /// On the instruction's host time.
    [[nodiscard]] double host(std::uint64_t draw) const {
      return host_.factor(static_cast<std::uint32_t>(draw));
    }

   private:
    friend class Variation;
    Row(const Variation& variation, std::uint64_t first)
        : kernels_{variation.kernels_.view()},
          host_{variation.host_.view()},
          random_{variation.random_.from(first)},
          varies_{variation.varies()} {}
    Jitter::View kernels_;
    Jitter::View host_;
    Random random_;
    bool varies_;
  };
  /// Whether anything varies at all.
  [[nodiscard]] bool varies() const { return kernels_.varies() || host_.varies(); }
  [[nodiscard]] Row row(std::uint32_t rank, std::uint32_t step) const {
    const std::uint64_t first = (std::uint64_t{rank} << 32U) + step * 0x9e3779b97f4a7c15ULL;
    return {*this, first};
  }

 private:
  Jitter kernels_;
  Jitter host_;
  Random random_{0, "variation"};
};

}  // namespace lockstep
