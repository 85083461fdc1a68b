#pragma once

/// @file
/// One rank: its streams, events and host threads, which do step by step what the table says.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generate/runtime/collectives.cuh"
#include "generate/runtime/table.hpp"

namespace benchmark {

struct RunOptions {
  int steps = 20;
  int warm_up = 3;
  bool host_recorded = true;
  bool annotate = false;  ///< each launch is an NVTX range that names its kernel, for Nsight Systems
  std::string log;        ///< file for the operations of the first step, as they are issued; empty: none
};

/// Measurements of one rank. Times in seconds.
struct Measured {
  std::vector<double> steps;       ///< from the end of the step before, on the GPU
  std::vector<double> host_steps;  ///< likewise of the first host thread
  double host_late = 0;            ///< a step's host time that calls took longer than recorded
  double launch = 0;               ///< host time of a launch of an empty kernel, median
  std::int64_t memory = 0;         ///< bytes of the device that are taken
  OperandCounts operands;          ///< of all steps
  std::string gpu;
  struct Family {
    std::uint64_t launches = 0;  ///< in a step
    double seconds = 0;          ///< of these, each kernel alone
    double expected = 0;
  };
  std::map<std::string, Family> families;
  std::vector<double> kernels;  ///< by kernel of the program: alone, median; below 0: not launched
};

/// Runs a rank of @p table on the GPU with this number, together with all other ranks.
/// @throws Failure
[[nodiscard]] Measured run_rank(const Table& table, std::uint32_t rank, int device, Rendezvous& rendezvous,
                                const RunOptions& options);

}  // namespace benchmark
