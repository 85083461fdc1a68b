#pragma once

/// @file
/// What a timeline file says before its first event: machine, job, and names of processes and threads.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// How one rank appears in a file: a process for its host threads and one for its GPU's streams.
struct RankLanes {
  std::uint32_t rank = 0;
  std::uint64_t host_pid = 0;
  std::uint64_t gpu_pid = 0;
  std::uint32_t device = 0;  ///< GPU ordinal in its node
};

/// Lanes of @p ranks. Hosts have pids from 1000 on (10,000, ... where there are more ranks than that); GPUs
/// that of their rank, or their ordinal where each rank has a file of its own.
[[nodiscard]] std::vector<RankLanes> lanes_of(const Job& job, std::span<const Vertex> vertices,
                                              std::span<const std::uint32_t> ranks, bool file_per_rank);

/// Processes that are of no rank stand above all others.
[[nodiscard]] std::uint64_t first_pid_of_tracks(std::size_t ranks);

/// The tid of a host thread: the main thread's is its pid, as on Linux.
[[nodiscard]] std::uint64_t host_tid(const RankLanes& lanes, std::size_t thread);

/// The opening of a file with the lanes of @p ranks, up to where events follow, each led by a comma.
/// @param vertices Fabric::vertices(), for the names of GPUs
/// @param of_a_recording whether host times are what was recorded: the file says that the rest is simulated
[[nodiscard]] std::string file_opening(const Job& job, std::span<const Vertex> vertices,
                                       std::span<const RankLanes> ranks, bool of_a_recording);

/// Ends the list of events and the file.
/// @param left_out what the file does not show, in a sentence; empty: nothing
[[nodiscard]] std::string file_ending(const std::string& name, const std::string& left_out);

}  // namespace lockstep
