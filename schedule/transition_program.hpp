#pragma once

#include <string>
#include <vector>

#include "ops/host_overhead.hpp"
#include "ops/job.hpp"
#include "schedule/transition_work.hpp"

namespace lockstep {

/// Times that a host thread waits for in a transition besides the GPU.
struct TransitionWaits {
  Seconds files;      ///< states written and read
  Seconds recompile;  ///< for new shapes
};

inline constexpr const char* kCheckpoint = "checkpoint of a transition";
inline constexpr const char* kRecompile = "recompile for new shapes";

/// The transition as one step of a Job on the ranks of @p phase, the job that it comes before or behind.
///
///   score     one reduction over the weights; zero3: all-reduce of the scores; a pass over them; the host
///             reads what goes
///   states    all-gather, strided copy of what is kept, zeros for the rest, broadcast
///   tables    strided copy of kept rows and columns; all-to-all of rows whose table moves
///   memory    a cudaFree and a cudaMalloc for each 20 MiB segment of what is new, where the host lists them
///   files     checkpoint, compilation
///
/// @param replicas groups of the ranks that hold the same parameters, or share them; empty: nobody does
[[nodiscard]] Job transition_job(const TransitionWork& work, const TransitionWaits& waits, const Job& phase,
                                 const HostOverheads& host,
                                 const std::vector<std::vector<std::uint32_t>>& replicas);

/// Groups of ranks of a phase's job that reduce gradients together, or share states.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> replica_groups(const Job& phase);

}  // namespace lockstep
