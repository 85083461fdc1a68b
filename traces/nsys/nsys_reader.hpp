#pragma once

#include <string>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::nsys {

/// Whether a file is a database that `nsys export --type sqlite` wrote.
/// @throws InputError when it cannot be opened
[[nodiscard]] bool is_nsys(const std::string& file);

/// The recording of each process with GPU work, in the order of process ids: kernels, copies,
/// memsets, calls of the runtime and the driver, NVTX ranges (as annotations; those of
/// torch.autograd.profiler.emit_nvtx as operators), synchronisation. Ranks are not in such a file: they are
/// the number behind `rank` in the file's name, or else the order of processes.
/// *Source*: schema of exports, docs.nvidia.com/nsight-systems, "SQLite schema reference".
/// @throws InputError when it cannot be read, or holds no GPU work
[[nodiscard]] std::vector<kineto::RecordedTrace> read_nsys(const std::string& file);

}  // namespace lockstep::nsys
