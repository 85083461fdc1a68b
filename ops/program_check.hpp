#pragma once

#include "ops/program.hpp"

namespace lockstep {

/// How many slots the per-rank instructions of @p program refer to.
struct SlotCounts {
  std::uint32_t kernels = 0;
  std::uint32_t collectives = 0;
};
[[nodiscard]] SlotCounts slots_of(const Program& program);

/// Checks what a Program promises by itself: indices within their tables, times that are finite and not
/// negative, ranges closed, awaited flags posted, events recorded before they are waited for. "Before" holds
/// within one step whatever the timing: by the order of a thread, or by a flag posted after the record and
/// awaited before the wait. A carried event (Program::carried_events) may also be recorded later by the
/// thread that waits: the step before has recorded it.
/// @throws std::invalid_argument naming thread and instruction
void check(const Program& program);

}  // namespace lockstep
