#pragma once

#include <cstdint>

#include "ops/job.hpp"

namespace lockstep::synth {

/// Repeats @p job @p times times, as replicas of data parallelism. Groups that reduce gradients are joined,
/// others are repeated. In an uneven all-to-all of a joined group, a member sends each part in as many parts.
[[nodiscard]] Job replicated(const Job& job, std::uint32_t times);

}  // namespace lockstep::synth
