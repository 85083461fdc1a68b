#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/communicator.hpp"
#include "sim/compiled_program.hpp"
#include "sim/noise.hpp"
#include "sim/rank.hpp"
#include "sim/variation.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

class Folding;

/// Everything that an Executor needs to know besides the Job.
struct ExecutorSpec {
  const Fabric* fabric = nullptr;
  PlanCollective plan_collective;
  std::vector<CompiledProgram> compiled;        ///< programs on GPU models
  std::vector<std::uint32_t> compiled_of_rank;  ///< by rank: index into `compiled`
  std::vector<RankTiming> timings;              ///< distinct ones
  std::vector<std::uint32_t> timing_of_rank;    ///< by rank: index into `timings`
  Variation variation;
  Noise noise;
  const Folding* folding = nullptr;  ///< only its representatives are simulated; null: all ranks
  bool stepped = false;
  std::string recorded_steps{};              ///< as SimulationOptions has it
  bool record_rendezvous = false;            ///< keep what RankRerun needs
  std::vector<std::uint32_t> metered_ranks;  ///< ranks with an ActivityMeter
};

}  // namespace lockstep
