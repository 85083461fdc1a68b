#pragma once

#include <string>

#include "ops/gpu/gpu_spec.hpp"

namespace lockstep {

/// The numbers that networks work with, as @p gpu has them.
[[nodiscard]] LearnedScale scale_of(const GpuSpec& gpu);

/// In which of them two differ by more than a thousandth, as `memory_bandwidth 2.5 TB/s, now 1 TB/s`; empty:
/// in none.
[[nodiscard]] std::string differences(const LearnedScale& fitted, const LearnedScale& now);

}  // namespace lockstep
