/// @file
/// Operations a second of the engine: engine_speed RANKS STEPS JITTER [run_ahead|s4u|bare|stepped|
/// interference|folded] [TIMELINE] The workload and the machine are those of tests/support/contended_job.hpp
/// and rail_fabric.hpp; a TIMELINE is written as Chrome trace. `run` is real time of the event loop; `cpu` is
/// processor time, with building the machine, and the measure to compare on a machine that others use too.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "ops/collectives/collective_planner.hpp"
#include "sim/simulation.hpp"
#include "tests/support/contended_job.hpp"
#include "tests/support/rail_fabric.hpp"
#include "traces/chrome_trace.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace lockstep;
  if (count < 4) {
    std::fputs(
        "usage: engine_speed RANKS STEPS JITTER [run_ahead|s4u|bare|stepped|interference|folded] "
        "[TIMELINE]\n",
        stderr);
    return 2;
  }
  const auto ranks = static_cast<std::uint32_t>(std::atoi(arguments[1]));
  const std::string engine = count > 4 ? arguments[4] : "run_ahead";
  const auto began = std::chrono::steady_clock::now();
  const Fabric fabric = testing::rail_fabric(static_cast<int>(ranks / 8));
  const Job job = testing::contended_job(fabric, ranks, std::atoi(arguments[2]));
  const CollectivePlanner planner{fabric};
  auto input = testing::input_for(job, fabric,
                                  [&](const CollectiveRequest& request, std::span<const VertexId> members) {
                                    return planner.plan(request, members);
                                  });
  if (std::atof(arguments[3]) > 0) {
    input.variation = testing::jitter(std::atof(arguments[3]));
  }
  SimulationOptions options;
  options.interference = engine == "interference";
  if (options.interference) {
    input.gpu_models.front().communication = {20, 0.2};
  }
  options.engine = engine == "s4u"    ? EngineMode::S4u
                   : engine == "bare" ? EngineMode::Bare
                                      : EngineMode::RunAhead;
  options.stepped = engine == "stepped";
  options.fold = engine == "folded";
  options.critical_path_limit = 0;
  std::unique_ptr<ChromeTraceWriter> timeline;
  if (count > 5) {
    ChromeTraceOptions to;
    to.path = arguments[5];
    timeline = std::make_unique<ChromeTraceWriter>(job, fabric.vertices(), to);
  }
  const std::clock_t before = std::clock();
  const SimulationResult result = simulate(input, options, timeline.get());
  if (timeline) {
    timeline->finish();
  }
  const double cpu = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  const double run = result.wall_seconds;
  const auto operations = static_cast<double>(result.operations);
  std::printf(
      "%-12s ranks %6u  setup %.3f s  run %.4f s  %7.1f M operations/s  %5.1f ns/op (cpu %.1f)  peak %.0f MB "
      " "
      "makespan %.9f s  %016llx\n",
      engine.c_str(), ranks, seconds_since(began) - run, run, 1e-6 * operations / run, 1e9 * run / operations,
      1e9 * cpu / operations, peak_memory(), result.makespan().in_base_units(),
      static_cast<unsigned long long>(result.fingerprint));
}
