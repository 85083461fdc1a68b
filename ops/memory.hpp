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

/// Device memory of one rank while its program is written: what is allocated is counted in program order.
class MemoryLedger {
 public:
  MemoryLedger() = default;
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  void allocate(MemoryUse use, Bytes size) { change({use, size.in_base_units()}); }
  void release(MemoryUse use, Bytes size) { change({use, -size.in_base_units()}); }

  /// The number of changes so far.
  [[nodiscard]] std::size_t position() const { return changes_.size(); }
  /// Makes the changes from position @p first to before @p last once more.
  void repeat(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      change(Change{changes_[i]});
    }
  }

  /// Marks the start of the optimizer.
  void begin_update() {
    peak_ = &peak_of_update_;
    *peak_ = now_;
  }

  [[nodiscard]] const MemoryBreakdown& now() const { return now_; }
  /// The contents at the moment when the memory held most.
  [[nodiscard]] const MemoryBreakdown& peak() const {
    return peak_of_update_.total() > peak_of_passes_.total() ? peak_of_update_ : peak_of_passes_;
  }
  /// The same before the optimizer runs, and while it does.
  [[nodiscard]] const MemoryBreakdown& peak_of_passes() const { return peak_of_passes_; }
  [[nodiscard]] const MemoryBreakdown& peak_of_update() const { return peak_of_update_; }

 private:
  struct Change {
    MemoryUse use;
    double bytes;  // fewer than none: released
  };

  void change(Change change) {
    now_[change.use] += change.bytes;
    if (change.bytes > 0 && now_.total() > peak_->total()) {
      *peak_ = now_;
    }
    changes_.push_back(change);
  }

  MemoryBreakdown now_;
  MemoryBreakdown peak_of_passes_, peak_of_update_;
  MemoryBreakdown* peak_ = &peak_of_passes_;  // of the two
  std::vector<Change> changes_;
};

}  // namespace lockstep
