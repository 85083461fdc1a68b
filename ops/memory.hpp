#pragma once

/// @file
/// Device memory: what holds it, and how much at most.

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace lockstep {

/// Kinds of contents of device memory.
enum class MemoryUse : std::uint8_t {
  Parameters,  ///< in the type of matrix products, and gathered copies (zero3)
  Gradients,
  Optimizer,      ///< master weights and moments
  Activations,    ///< kept for backward
  Workspace,      ///< of the operator that runs: gathered inputs, logits
  Communication,  ///< buffers of collectives: gradients that are gathered in a bucket
  Context,        ///< the CUDA context and libraries
  Fragmentation,  ///< of the caching allocator
};
inline constexpr std::size_t kMemoryUses = static_cast<std::size_t>(MemoryUse::Fragmentation) + 1;

/// `parameters`, `optimizer states`, ...
[[nodiscard]] constexpr std::string_view name_of(MemoryUse use) {
  constexpr std::array<std::string_view, kMemoryUses> kNames{
      "parameters", "gradients",     "optimizer states", "activations",
      "workspace",  "communication", "CUDA context",     "fragmentation"};
  return kNames[static_cast<std::size_t>(use)];
}

/// Sizes of tensors that are allocated one by one, in that order.
using Tensors = std::vector<Bytes>;
[[nodiscard]] inline Bytes total(const Tensors& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), Bytes{0});
}

/// Bytes of each use.
struct MemoryBreakdown {
  std::array<double, kMemoryUses> bytes{};
  [[nodiscard]] double& operator[](MemoryUse use) { return bytes[static_cast<std::size_t>(use)]; }
  [[nodiscard]] double operator[](MemoryUse use) const { return bytes[static_cast<std::size_t>(use)]; }
  [[nodiscard]] Bytes total() const {
    double sum = 0;
    for (const double part : bytes) {
      sum += part;
    }
    return Bytes{sum};
  }
};

/// A place in a Program: the thread has executed the instructions before it.
struct ProgramPosition {
  std::uint32_t instruction = 0;  ///< number of instructions of the thread before it
  std::uint8_t thread = 0;
};

/// One use of a rank's device memory grows or shrinks.
struct MemoryChange {
  double bytes = 0;  ///< below 0: released
  ProgramPosition at;
  MemoryUse use = MemoryUse::Parameters;
};

}  // namespace lockstep
