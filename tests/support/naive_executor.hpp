#pragma once

#include <cstdint>

#include "sim/simulation.hpp"

namespace lockstep::testing {

struct NaiveResult {
  double makespan = 0;            ///< s
  std::uint64_t fingerprint = 0;  ///< as SimulationResult::fingerprint
  std::uint64_t launches = 0;
};

/// The simulator one would write first: every host thread and every stream is a SimGrid actor, every host
/// instruction and every kernel sleeps in SimGrid's clock, and nobody runs ahead. Slow, and the judge of
/// simulate(): it shares nothing with it but the input, the machine and SharedNetwork. Dates are carried
/// beside SimGrid's clock, because that adds up differences. Knows no copies over PCIe. Once per process.
/// @throws std::runtime_error when the job does not end, std::invalid_argument for a copy over PCIe
NaiveResult simulate_naively(const SimulationInput& input);

}  // namespace lockstep::testing
