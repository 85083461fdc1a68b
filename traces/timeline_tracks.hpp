#pragma once

/// @file
/// Tracks of a timeline besides the work of its ranks: the critical path, what links carry, what GPUs hold.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "sim/critical_path.hpp"
#include "sim/link_loads.hpp"
#include "topology/fabric.hpp"
#include "traces/memory_recorder.hpp"

namespace lockstep {

struct LinkTrack {
  std::string name;                 ///< unique
  std::vector<LoadChange> changes;  ///< in order of time
};

struct TimelineTracks {
  std::span<const PathPiece> path{};  ///< SimulationResult::path_pieces
  std::vector<LinkTrack> links{};
  std::span<const MemoryCourse> memory{};  ///< of the ranks in the timeline
};

/// Name of the counter of a rank's memory, in GB, in the process of its GPU.
inline constexpr const char* kMemoryTrack = "GPU memory";

/// The tracks of @p loads, named after the links and their bandwidths.
[[nodiscard]] std::vector<LinkTrack> link_tracks(const Fabric& fabric, std::vector<LinkLoads> loads);

/// All that is held, in GB.
[[nodiscard]] double gigabytes(const MemoryBreakdown& held);

/// `rank 3 stream compute`: where a piece of the critical path runs.
[[nodiscard]] std::string path_lane(const Job& job, const PathPiece& piece);

/// Events of Chrome trace JSON, each led by a comma: a process for the critical path and one for the links;
/// memory is in the process of the rank's GPU.
struct TrackEvents {
  std::string text;
  std::uint64_t count = 0;  ///< without metadata
};

/// @param first_pid of the two processes
[[nodiscard]] TrackEvents track_events(const Job& job, const TimelineTracks& tracks, std::uint64_t first_pid);

}  // namespace lockstep
