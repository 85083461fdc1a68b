#pragma once

#include <string>

#include "ops/job.hpp"

namespace lockstep::synth {

/// Describes the first group of @p job whose members call different collectives; empty: there is none.
/// The order of calls counts where each member calls the group from one thread.
[[nodiscard]] std::string conflict_of(const Job& job);

}  // namespace lockstep::synth
