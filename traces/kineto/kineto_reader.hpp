#pragma once

#include <optional>
#include <string>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// Reads a trace of PyTorch's profiler (chrome://tracing JSON, gz or not) of any vintage since 2021, from
/// CUDA or HIP. What it does not know or cannot use is in the trace's report.
/// Memory: what it keeps, not the text; formats and their traps: docs/traces.md.
/// @throws InputError when the file cannot be read, is cut off, or is no such trace
[[nodiscard]] RecordedTrace read_kineto(const std::string& file_name);

/// The same, but empty for JSON that is something else.
[[nodiscard]] std::optional<RecordedTrace> read_if_kineto(const std::string& file_name);

}  // namespace lockstep::kineto
