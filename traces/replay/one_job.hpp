#pragma once

#include <optional>
#include <span>

#include "base/error.hpp"
#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::replay {

/// What shows that recordings are of different jobs: how many ranks these have. Without a value they may be
/// of one.
[[nodiscard]] std::optional<Problem> different_jobs(std::span<const kineto::RecordedTrace> traces);

}  // namespace lockstep::replay
