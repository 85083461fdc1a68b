#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "scenario/prediction.hpp"

namespace lockstep {

/// A GPU filled beyond this share of its usable memory is tight: predictions are a few per cent off, so that
/// the job may not fit, or wait for an allocator that finds no room.
inline constexpr double kTight = 0.95;

/// The rank whose GPU is filled most.
struct FullestRank {
  std::uint32_t rank = 0;
  std::string gpu;         ///< its model
  MemoryBreakdown memory;  ///< at its peak, with context and fragmentation
  Bytes capacity;          ///< GpuSpec::usable()
  Bytes nominal;           ///< GpuSpec::memory

  [[nodiscard]] double share() const { return memory.total() / capacity; }
  [[nodiscard]] bool is_tight() const { return share() > kTight; }
};

/// The node of whose host memory most is taken, by all its ranks together.
struct FullestHost {
  int node = 0;            ///< -1: sockets outside of nodes
  MemoryBreakdown memory;  ///< what training keeps there; the operating system's and loaders' is not counted
  Bytes capacity;          ///< 0: not known

  [[nodiscard]] double share() const { return memory.total() / capacity; }
};

/// A rank needs more memory than its GPU has, or the ranks of a node more than their host.
class OutOfMemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Context and fragmentation, which stay through the step: beside the @p peak that the job allocates.
[[nodiscard]] MemoryBreakdown beside_job(const MemorySpec& spec, const MemoryBreakdown& peak);

/// None where the workload's memory is not modelled.
[[nodiscard]] std::optional<FullestRank> fullest_rank(const ResolvedScenario& resolved);

/// None where nothing is kept in host memory.
[[nodiscard]] std::optional<FullestHost> fullest_host(const ResolvedScenario& resolved);

/// `the host of node 3`
[[nodiscard]] std::string host_name(const FullestHost& host);

/// `  activations    12.3 GB   45.6 %`, a line for each use, the largest first; the share of @p capacity
/// where that is known (more than 0).
[[nodiscard]] std::string memory_lines(const MemoryBreakdown& memory, Bytes capacity);

/// Unless the scenario says to go on.
/// @param as_typed the scenario in the words of a command line, for the command that finds a plan; empty:
/// none is named
/// @throws OutOfMemoryError with the breakdown
/// @throws InputError at the cluster when something is kept in host memory whose size it does not say
void check_memory(const ResolvedScenario& resolved, const std::string& as_typed = "");

}  // namespace lockstep
