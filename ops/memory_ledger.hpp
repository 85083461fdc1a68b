#pragma once

/// @file
/// Counts a rank's device memory while its Program is written.

#include <cstddef>
#include <vector>

#include "ops/memory.hpp"

namespace lockstep {

class ProgramBuilder;

/// Device memory of one rank while its program is written: what is allocated is counted in program order.
class MemoryLedger {
 public:
  MemoryLedger() = default;
  /// @param program its position says where each change is; must outlive the changes
  explicit MemoryLedger(const ProgramBuilder& program) : program_{&program} {}
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  void allocate(MemoryUse use, Bytes size) { change({size.in_base_units(), position(), use}); }
  void release(MemoryUse use, Bytes size) { change({-size.in_base_units(), position(), use}); }

  /// Without a program: where the changes from here on are.
  void move_to(ProgramPosition position) { at_ = position; }

  /// All changes so far, in order.
  [[nodiscard]] const std::vector<MemoryChange>& changes() const { return changes_; }
  /// Makes the changes from number @p first to before @p last once more.
  /// @param later number of instructions by which the program's repetition is behind what it repeats
  void repeat(std::size_t first, std::size_t last, std::size_t later);

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
  /// Peaks before the optimizer runs, and while it does.
  [[nodiscard]] const MemoryBreakdown& peak_of_passes() const { return peak_of_passes_; }
  [[nodiscard]] const MemoryBreakdown& peak_of_update() const { return peak_of_update_; }

 private:
  [[nodiscard]] ProgramPosition position() const;

  void change(MemoryChange change) {
    now_[change.use] += change.bytes;
    if (change.bytes > 0 && now_.total() > peak_->total()) {
      *peak_ = now_;
    }
    changes_.push_back(change);
  }

  const ProgramBuilder* program_ = nullptr;
  ProgramPosition at_;
  MemoryBreakdown now_;
  MemoryBreakdown peak_of_passes_, peak_of_update_;
  MemoryBreakdown* peak_ = &peak_of_passes_;  // of the two
  std::vector<MemoryChange> changes_;
};

}  // namespace lockstep
