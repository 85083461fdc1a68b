#pragma once

#include <cstdint>
#include <functional>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "ops/kernel.hpp"

namespace lockstep::synth {

/// Seconds of a collective with the machine to itself.
using CollectiveTime = std::function<double(const CollectiveCall&, const ProcessGroup&)>;

/// How the work of a job is written as fewer, larger pieces.
struct AggregateOptions {
  std::uint32_t collectives = 8;  ///< most of one kind that a thread calls in one group
  bool has_launches = true;       ///< kernels on a stream rest for GpuSpec::kernel_gap between them
  std::function<bool(const KernelCall&)> stays = [](const KernelCall&) { return false; };
  std::function<double(double)> coarse = [](double seconds) { return seconds; };  ///< of the pieces' times
  CollectiveTime alone;  ///< empty: merged collectives lose the latencies of all but one
};

/// Launches and collectives of all programs.
struct AggregateReport {
  std::uint64_t launches = 0, left_launches = 0;
  std::uint64_t collectives = 0, left_collectives = 0;
};

/// Replaces rows of kernels by one kernel `compute` each, that takes as long, and rows of collectives of one
/// kind, group and thread by one with all their bytes, where the last of them was. The number of collectives
/// becomes a power of two. The latencies that they lose are a kernel before them on their stream. Waits and
/// records that order nothing any more go; so do ranges and names of host work, whose time stays. Messages,
/// uneven all-to-alls, copies from and to hosts, and what differs by rank stay.
///
/// A row ends where its stream waits for work of another stream, or is waited for: work depends on no more
/// than it did, but for what merged collectives carry.
/// @param gpu that kernels are timed on
AggregateReport aggregate(Job& job, const GpuSpec& gpu, const AggregateOptions& options);

}  // namespace lockstep::synth
