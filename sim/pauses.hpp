#pragma once

#include <cstdint>
#include <vector>

#include "ops/program.hpp"
#include "sim/kernel_timing.hpp"

namespace lockstep {

/// Places where a host thread may stop working ahead of a blocked stream S, until S goes on, instead of
/// putting more on it. So queues stay short and in the caches, without any date depending on it.
///
/// While it pauses, the thread misses nothing under one condition. Launches elsewhere that the world outside
/// can see (communication kernels, copies over PCIe; posts to other threads) cannot begin before S goes on:
/// their stream, or the thread itself, first waits for an event that is recorded on S after the pause.
class Pauses {
 public:
  Pauses(const Program& program, std::size_t thread, const std::vector<KernelTiming>& kernels);

  /// Whether the thread may pause before @p instruction for the stream that it uses.
  [[nodiscard]] bool allow(std::uint32_t instruction) const { return !forbidden_[instruction]; }

 private:
  std::vector<bool> forbidden_;  // by instruction
};

}  // namespace lockstep
