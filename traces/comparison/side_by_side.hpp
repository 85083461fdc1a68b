#pragma once

#include <filesystem>

#include "traces/comparison/recorded_run.hpp"

namespace lockstep::comparison {

/// One timeline (Chrome trace JSON, gzip) with the events of the rank of both runs: B's below A's, processes
/// named `A: ...` and `B: ...`, both from time 0 on, where their first steps begin.
/// @throws InputError when a file cannot be read or written
void write_side_by_side(const RecordedRun& a, const RecordedRun& b, const std::filesystem::path& file);

}  // namespace lockstep::comparison
