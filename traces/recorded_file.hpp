#pragma once

#include <string>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep {

/// The ranks that a file recorded: a profile of PyTorch, a timeline of `lockstep run`, or an export of Nsight
/// Systems.
/// @throws InputError for a file that is none of these, or cannot be read
[[nodiscard]] std::vector<kineto::RecordedTrace> read_recorded(const std::string& file);

/// The same, but empty for JSON and databases that are something else.
[[nodiscard]] std::vector<kineto::RecordedTrace> read_if_recorded(const std::string& file);

}  // namespace lockstep
