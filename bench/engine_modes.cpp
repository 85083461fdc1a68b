/// @file
/// Prints a table in Markdown: each way of simulating, its part of SimGrid and its operations a second:
/// engine_modes [RANKS [STEPS]]. The workload and the machine are those of engine_speed, with 10 % jitter.
/// Each mode runs in a process of its own and says the best of three runs.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ops/collectives/collective_planner.hpp"
#include "sim/simulation.hpp"
#include "tests/support/contended_job.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/rail_fabric.hpp"

namespace {

using namespace lockstep;

struct Mode {
  const char* name;
  const char* clock;
  const char* actors;
  const char* solver;
  EngineMode engine;
  NetworkMode network;
  bool interference;
};

constexpr std::array<Mode, 7> kModes{{
    {"`run_ahead`, `shared`", "SimGrid", "objects", "ours, one variable a collective", EngineMode::RunAhead,
     NetworkMode::Shared, false},
    {"`run_ahead`, `shared`, interference", "SimGrid", "objects, stepped", "ours, one variable a collective",
     EngineMode::RunAhead, NetworkMode::Shared, true},
    {"`s4u`, `shared`", "SimGrid", "SimGrid's", "ours, one variable a collective", EngineMode::S4u,
     NetworkMode::Shared, false},
    {"`s4u`, `shared`, interference", "SimGrid", "SimGrid's, stepped", "ours, one variable a collective",
     EngineMode::S4u, NetworkMode::Shared, true},
    {"`run_ahead`, `flows`", "SimGrid", "objects", "SimGrid's, one variable an edge", EngineMode::RunAhead,
     NetworkMode::Flows, false},
    {"`s4u`, `flows`", "SimGrid", "SimGrid's", "SimGrid's, one variable an edge", EngineMode::S4u,
     NetworkMode::Flows, false},
    {"searches, tests", "own loop", "objects", "ours, one variable a collective", EngineMode::Bare,
     NetworkMode::Shared, false},
}};

std::vector<double> measured(const Mode& mode, std::uint32_t ranks, int steps) {
  const Fabric fabric = lockstep::testing::rail_fabric(static_cast<int>(ranks / 8));
  const Job job = lockstep::testing::contended_job(fabric, ranks, steps);
  const CollectivePlanner planner{fabric};
  auto input = lockstep::testing::input_for(
      job, fabric, [&](const CollectiveRequest& request, std::span<const VertexId> members) {
        return planner.plan(request, members);
      });
  input.variation = lockstep::testing::jitter(0.1);
  input.gpu_models.front().sm_count = 100;
  input.gpu_models.front().communication = {20, 0.2};
  SimulationOptions options;
  options.engine = mode.engine;
  options.network = mode.network;
  options.interference = mode.interference;
  options.critical_path_limit = 0;
  const SimulationResult result = simulate(input, options, nullptr);
  const PlatformSize& size = result.platform;
  return {static_cast<double>(size.hosts), static_cast<double>(size.links), static_cast<double>(size.actors),
          static_cast<double>(result.operations) / result.wall_seconds};
}

std::vector<double> best_of_three(const Mode& mode, std::uint32_t ranks, int steps) {
  std::vector<double> best;
  for (int run = 0; run < 3; ++run) {
    auto found = lockstep::testing::in_child([&] { return measured(mode, ranks, steps); });
    if (best.empty() || found.back() > best.back()) {
      best = std::move(found);
    }
  }
  return best;
}

}  // namespace

int main(int count, char** arguments) {
  const auto ranks = static_cast<std::uint32_t>(count > 1 ? std::atoi(arguments[1]) : 64);
  const int steps = count > 2 ? std::atoi(arguments[2]) : 3;
  std::puts("| mode | clock | hosts | links | actors | solver | operations/s |");
  std::puts("|---|---|---:|---:|---|---|---:|");
  for (const Mode& mode : kModes) {
    const std::vector<double> figures = best_of_three(mode, ranks, steps);
    std::printf("| %s | %s | %.0f | %.0f | %.0f %s | %s | %.2f M |\n", mode.name, mode.clock, figures[0],
                figures[1], figures[2], mode.actors, mode.solver, 1e-6 * figures[3]);
    std::fflush(stdout);
  }
}
