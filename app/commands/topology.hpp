#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/answer.hpp"
#include "scenario/overrides.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

struct TopologyOptions {
  std::string cluster;                                      ///< or a scenario
  std::vector<Override> overrides;                          ///< of the scenario
  std::vector<std::pair<std::string, std::string>> routes;  ///< names of vertices
  std::uint64_t flow = 0;
  std::string dot;  ///< files; empty: not asked for
  std::string svg;
  AnswerOptions answer;
};

/// Shows a cluster: inventory, bandwidth and latency between GPUs, routes. Returns the exit code.
/// @throws InputError, std::invalid_argument for an unknown vertex of a route
int topology_command(const TopologyOptions& options);

/// Registers `lockstep topology`; when it was called, @p action runs it.
void add_topology_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
