#pragma once

#include <optional>
#include <string>

#include "traces/pytorch_et/execution_trace.hpp"

namespace lockstep::pytorch_et {

/// Reads a PyTorch execution trace, gz or not, of schema 1.0.1 to 1.1.1. A schema that is not known is read
/// as far as it looks like one of them; that and whatever else is odd is in the trace's report.
/// Memory: what it keeps, not the text.
/// @throws InputError when the file cannot be read, is cut off, or is no such trace; with the line of a node
///   that is no JSON object, has no id, or the id of another
[[nodiscard]] ExecutionTrace read_execution_trace(const std::string& file_name);

/// The same; nothing for JSON of another kind.
[[nodiscard]] std::optional<ExecutionTrace> read_if_execution_trace(const std::string& file_name);

}  // namespace lockstep::pytorch_et
