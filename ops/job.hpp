#pragma once

/// @file
/// A Job: Programs, and which rank on which GPU runs which of them. The executor's whole input about work.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/memory.hpp"
#include "ops/program.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Ranks that communicate; the order is the order of the ring, of splits and of roots.
struct ProcessGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;  ///< global rank numbers, each once
};

/// One rank. Slots say what differs between ranks that share a Program (Instruction::per_rank).
struct RankAssignment {
  VertexId gpu = 0;
  std::uint32_t program = 0;                    ///< index into Job::programs
  std::vector<std::uint32_t> groups;            ///< by Program::groups: index into Job::groups
  std::vector<std::uint32_t> kernel_slots;      ///< by slot: index into Program::kernels
  std::vector<std::uint32_t> collective_slots;  ///< by slot: index into Program::collectives
  std::uint32_t memory = 0;                     ///< index into Job::memory, where that is not empty
};

struct Job {
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<ProcessGroup> groups;
  std::vector<RankAssignment> ranks;
  /// Device memory of a rank when it holds most, without context and fragmentation; ranks share entries
  /// (RankAssignment::memory). Empty where it is not modelled.
  std::vector<MemoryBreakdown> memory;
  /// The same before the optimizer runs, and while it does: of transformers by a plan, else empty.
  std::vector<MemoryBreakdown> pass_memory, update_memory;
  /// Changes of device memory in a step, in order; the highest sum is that of `memory` (index:
  /// RankAssignment::memory). Empty where only the peak is modelled.
  std::vector<std::vector<MemoryChange>> memory_changes;
  /// Host memory that a rank fills (index: RankAssignment::memory); empty where nothing is kept there.
  std::vector<MemoryBreakdown> host_memory;
  int steps = 1;  ///< how often every rank repeats its program, >= 1
};

/// Checks that every index of the job points somewhere, every group member runs a program that knows the
/// group, ranges are closed, events are recorded before they are waited for.
/// @throws std::invalid_argument naming rank, thread and instruction
void check(const Job& job);

}  // namespace lockstep
