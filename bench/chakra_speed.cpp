/// @file
/// Nodes a second of Chakra traces: chakra_speed TRACES CLUSTER [RANKS] [no-critical-path]
/// TRACES as trace.chakra of a scenario (traces/dp.%d.et), CLUSTER as its cluster (dgx_h100 x 8). Prints how
/// long the machine took to build, the traces to read and the simulation to run, all in real time, and the
/// memory that reading and running added. bench/chakra/compare.sh generates the traces and runs all of
/// docs/performance.md.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <string>

#include "base/config_path.hpp"
#include "base/named.hpp"
#include "base/yaml_reader.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "sim/simulation.hpp"
#include "topology/cluster_spec.hpp"
#include "traces/chakra/chakra_job.hpp"

namespace {

using namespace lockstep;

struct Lap {
  double real = 0;
  double cpu = 0;
  Lap operator+(const Lap& other) const { return {real + other.real, cpu + other.cpu}; }
};

class Stopwatch {
 public:
  /// Seconds since the last lap.
  Lap lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::clock_t ticks = std::clock();
    const Lap lap{std::chrono::duration<double>(now - last_).count(),
                  static_cast<double>(ticks - last_ticks_) / CLOCKS_PER_SEC};
    last_ = now;
    last_ticks_ = ticks;
    return lap;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::clock_t last_ticks_ = std::clock();
};

void print(const char* what, const Lap& lap) {
  std::printf("%s %.3f s (cpu %.3f), ", what, lap.real, lap.cpu);
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

struct MachineSpec {
  Named<ClusterSpec> cluster;

  template <class Visitor>
  static void describe(Visitor& key, MachineSpec& machine) {
    key.required("cluster", machine.cluster, "the machine");
  }
};

/// Compute nodes and collectives of all ranks.
double nodes_of(const Job& job) {
  double nodes = 0;
  for (const RankAssignment& rank : job.ranks) {
    for (const Instruction& instruction : job.programs[rank.program]->threads.front().instructions) {
      nodes += instruction.op == Opcode::Launch || instruction.op == Opcode::Collective ? 1 : 0;
    }
  }
  return nodes;
}

/// @param fast without a critical path
SimulationResult simulated(const Job& job, const Fabric& fabric, const CollectivePlanner& planner,
                           bool fast) {
  SimulationInput input;
  input.job = &job;
  input.fabric = &fabric;
  input.gpu_models.push_back({});
  input.gpu_models.front().name = "any";
  input.gpu_models.front().sm_count = 1;
  input.gpu_model_of_rank.assign(job.ranks.size(), 0);
  input.plan_collective = [&](const CollectiveRequest& request, std::span<const VertexId> members) {
    return planner.plan(request, members);
  };
  SimulationOptions options;
  options.launch_queue = std::numeric_limits<std::uint32_t>::max();
  if (fast) {
    options.critical_path_limit = 0;
  }
  return simulate(input, options, nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: chakra_speed TRACES CLUSTER [RANKS] [no-critical-path]\n", stderr);
    return 2;
  }
  Stopwatch watch;
  const ConfigPath configs = ConfigPath::standard();
  const auto machine =
      read_text<MachineSpec>("cluster: " + std::string{arguments[2]}, "command line", configs);
  const Fabric fabric = machine.cluster->fabric();
  CollectiveOptions options;
  options.profile = read_file<CollectiveProfile>(configs.find("profiles", "dgx_h100"), configs);
  const CollectivePlanner planner{fabric, options};
  const Lap building = watch.lap();
  const double before = peak_bytes();
  ChakraSpec spec;
  spec.chakra = arguments[1];
  if (count > 3) {
    spec.ranks = std::atoi(arguments[3]);
  }
  const Job job = chakra_job(spec, "", fabric.gpus());
  const Lap reading = watch.lap();
  const double read = peak_bytes();
  const SimulationResult result = simulated(job, fabric, planner, count > 4);
  const Lap simulating = watch.lap();
  const double nodes = nodes_of(job);
  std::printf("%zu ranks, %.0f nodes, %zu programs: ", job.ranks.size(), nodes, job.programs.size());
  print("build", building);
  print("read", reading);
  print("simulate", simulating);
  const Lap work = reading + simulating;
  const Lap all = building + work;
  std::printf(
      "loop %.3f s; read and simulate %.2f M nodes/s (cpu %.2f), all %.2f (cpu %.2f); "
      "read %.0f B/node, peak %.0f B/node; %.9f s simulated\n",
      result.wall_seconds, 1e-6 * nodes / work.real, 1e-6 * nodes / work.cpu, 1e-6 * nodes / all.real,
      1e-6 * nodes / all.cpu, (read - before) / nodes, (peak_bytes() - before) / nodes,
      result.makespan().in_base_units());
}
