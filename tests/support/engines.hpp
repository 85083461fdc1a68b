#pragma once

/// @file
/// The same simulation on every engine.

#include <string>
#include <utility>
#include <vector>

#include "sim/simulation.hpp"
#include "tests/support/in_child.hpp"

namespace lockstep::testing {

/// Results that engines must agree on, to the last bit.
struct Agreement {
  double makespan = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t launches = 0;
  bool operator==(const Agreement&) const = default;
};

inline Agreement agreement_of(const SimulationResult& result) {
  return {result.makespan().in_base_units(), result.fingerprint, result.launches};
}

inline SimulationOptions options_for(EngineMode engine, bool stepped = false,
                                     NetworkMode network = NetworkMode::Shared) {
  SimulationOptions options;
  options.engine = engine;
  options.stepped = stepped;
  options.network = network;
  return options;
}

struct NamedOptions {
  std::string name;
  SimulationOptions options;
};

/// Every engine, stepped or not. @param options what else to set
inline std::vector<NamedOptions> every_engine(SimulationOptions options = {}) {
  std::vector<NamedOptions> all;
  for (const auto& [name, engine] :
       {std::pair{"bare", EngineMode::Bare}, {"run-ahead", EngineMode::RunAhead}, {"s4u", EngineMode::S4u}}) {
    for (const bool stepped : {false, true}) {
      options.engine = engine;
      options.stepped = stepped;
      all.push_back({stepped ? std::string{name} + ", stepped" : name, options});
    }
  }
  return all;
}

/// A simulation in a process of its own.
inline Agreement simulated_in_child(const SimulationInput& input, const SimulationOptions& options) {
  return in_child([&] { return agreement_of(simulate(input, options, nullptr)); });
}

}  // namespace lockstep::testing
