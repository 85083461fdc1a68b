#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "sim/kernel_timing.hpp"
#include "traces/chakra/node_notes.hpp"

namespace lockstep::chakra {

/// Content of a trace besides the Program.
struct TraceContent {
  bool has_launches = true;  ///< false: durations hold the gaps between kernels (TraceKind::ProgramOfGraph)
  const NodeNotes* notes = nullptr;
  bool is_shared = false;  ///< names no group and no rank: those of each rank stand in the file of groups
};

/// The records of one rank's trace, each with its length in front, in the order of the file.
///
/// Every instruction is a node of the host (COMP, is_cpu_op), in the order of its thread; a launch is
/// followed by what it launches, a node of the GPU. Ids ascend from 1, and nothing depends on a later node:
/// threads are walked one at a time, until they await what has not been posted.
///
///   data_deps of a host node   the one before it on its thread; a wait: what it waits for on the GPU; an
///   Await: the
///                              Post
///   data_deps of a GPU node    its launch; the one before it on its stream; what its stream was told to wait
///   for ctrl_deps                  of a host node the range around it, of a GPU node its launch
///
/// @param kernels by index into Program::kernels, on the rank's GPU
/// @throws std::invalid_argument for a kernel that reads or writes host memory itself: its links are not in a
/// trace
[[nodiscard]] std::string trace_of_rank(const Job& job, std::uint32_t rank,
                                        std::span<const KernelTiming> kernels, const TraceContent& content);

}  // namespace lockstep::chakra
