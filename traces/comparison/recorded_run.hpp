#pragma once

/// @file
/// One rank of a timeline, ours or PyTorch's, as far as two of them can be compared.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "traces/kernels/kernel_families.hpp"

namespace lockstep::comparison {

using Nanoseconds = std::int64_t;

enum class WorkKind : std::uint8_t { Compute, Communication, Copy };

/// A kernel, copy or memset on a stream.
struct Work {
  Nanoseconds start = 0, end = 0;
  WorkKind kind = WorkKind::Compute;
  std::uint32_t name = 0;      ///< index into RecordedRun::names
  std::uint32_t launcher = 0;  ///< likewise: the operator that launched it
  std::uint32_t family = 0;    ///< likewise: KernelFamilies
};

struct RecordedRun {
  std::string file;
  std::vector<std::string> names;
  std::vector<Work> work;  ///< by start
  /// Start and end of the steps (StepEnds). Where some ends are not known, the longest stretch with known
  /// ends counts. Where there is no ProfilerStep#N, all work counts.
  Nanoseconds start = 0, end = 0;
  int steps = 1;
  std::uint64_t left_out = 0;  ///< events that cannot be parsed, and GPU work without start or duration
  std::vector<std::string> incomplete;  ///< steps of which something is missing, and what, in words
  std::set<std::int64_t> processes;     ///< pids of the rank: its host's and its GPU's; empty: all

  [[nodiscard]] double step_seconds() const { return 1e-9 * static_cast<double>(end - start) / steps; }
};

/// Reads a Chrome trace as PyTorch's profiler and `lockstep run` write it, gz or not. Of a file of several
/// ranks (processes named `rank N host` and `rank N GPU`) the rank @p rank is read, of a file without such
/// names all.
/// @throws InputError when it cannot be read, is no such trace, has no work on a GPU or not that rank
[[nodiscard]] RecordedRun read_run(const std::string& file_name, std::int64_t rank,
                                   const KernelFamilies& families = standard_families());

}  // namespace lockstep::comparison
