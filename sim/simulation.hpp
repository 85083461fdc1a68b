#pragma once

/// @file
/// The executor's front door: a Job on a machine in, what happened out.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "sim/activity_meter.hpp"
#include "sim/communicator.hpp"
#include "sim/critical_path.hpp"
#include "sim/link_loads.hpp"
#include "sim/link_use.hpp"
#include "sim/noise.hpp"
#include "sim/stream.hpp"
#include "sim/timeline.hpp"
#include "sim/variation.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

class Executor;
class Folding;
class KnownKernels;
class Machine;
class Network;
struct ExecutorSpec;

enum class EngineMode : std::uint8_t {
  RunAhead,  ///< actor objects that run ahead, on a SimGrid platform and in its clock
  S4u,       ///< every actor a real s4u::Actor on its host; same dates
  Bare,      ///< without SimGrid, for many simulations in one process; same dates; no `flows`
};
enum class NetworkMode : std::uint8_t { Shared, Flows, Alone };

struct SimulationInput {
  const Job* job = nullptr;
  const Fabric* fabric = nullptr;
  std::vector<GpuSpec> gpu_models;
  std::vector<std::uint32_t> gpu_model_of_rank;  ///< by rank: index into gpu_models
  std::vector<double> host_factor;               ///< by rank; empty: 1
  std::vector<double> gpu_factor;                ///< by rank; empty: 1
  PlanCollective plan_collective;
  Variation variation;
  Noise noise;
  /// Kernels that earlier simulations asked the models about, by gpu_models; null: nothing is kept.
  std::vector<KnownKernels>* known_kernels = nullptr;
  /// The SimGrid platform, which simulations of one process share; null: one with the parts in use is made.
  Machine* machine = nullptr;
};

struct SimulationOptions {
  EngineMode engine = EngineMode::RunAhead;
  NetworkMode network = NetworkMode::Shared;
  bool stepped = false;              ///< compute kernels start and end in global time
  bool fold = false;                 ///< ranks that are alike are simulated once: the result is the same
  bool interference = false;         ///< stepped, and slowed down by communication on the same GPU
  std::uint32_t launch_queue = 0;    ///< launches a stream holds; 0: as the GpuSpec says
  std::uint32_t metered_ranks = 32;  ///< most ranks whose Activity is metered, evenly chosen
  /// The name with which ranges of steps of a replay begin (`ProfilerStep#`). Host time that no other range
  /// covers was not recorded, and long rests of the GPU have no known cause. Empty: no replay.
  std::string recorded_steps{};
  std::uint64_t critical_path_limit = 8'000'000;  ///< most instructions of a step for which one is recorded
  /// Settings of SimGrid's tracing, as check_tracing_setting() allows it; for a machine that is made.
  std::vector<std::string> tracing{};
};

/// The work of one rank's streams, by Program::streams.
struct RankResult {
  std::vector<StreamTotals> streams;
  double host_blocked = 0;  ///< main thread, s
  double end = 0;           ///< of its last work, s: other ranks may go on
};

struct MeteredRank {
  std::uint32_t rank = 0;
  Activity activity;
};

/// The machine that a simulation ran on.
struct PlatformSize {
  std::size_t hosts = 0;   ///< as SimGrid counts them; none without SimGrid
  std::size_t links = 0;   ///< likewise
  std::size_t actors = 0;  ///< host threads and streams of the simulated ranks
};

struct SimulationResult {
  std::vector<double> step_ends;  ///< s; a step ends when all its work on all ranks has
  std::uint64_t operations = 0;   ///< instructions executed
  std::uint64_t launches = 0;
  std::uint32_t simulated_ranks = 0;  ///< fewer than the job's where alike ranks were folded
  PlatformSize platform;
  double wall_seconds = 0;        ///< real time of the event loop, without building the machine
  std::uint64_t fingerprint = 0;  ///< of every start and end on every stream, to the last bit
  std::vector<RankResult> ranks;
  std::vector<MeteredRank> metered;
  std::vector<LinkUse> links;                ///< links that carried anything
  std::vector<CriticalShare> critical_path;  ///< of the last step, largest first; empty: not recorded
  std::vector<PathPiece> path_pieces{};      ///< of critical_path, in order of time

  [[nodiscard]] Seconds makespan() const { return Seconds{step_ends.back()}; }
  /// Mean over the steps after the first (which fills pipelines); the first if it is the only one.
  [[nodiscard]] Seconds mean_step() const;
};

/// A job made ready to run on a machine.
class Simulation {
 public:
  /// Folds the job if that is asked for and possible. What @p input points to must outlive the simulation.
  Simulation(const SimulationInput& input, const SimulationOptions& options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// All ranks, or the lowest of each class of alike ones.
  [[nodiscard]] std::vector<std::uint32_t> simulated_ranks() const;

  /// Lets @p observer hear of every change of what a link carries. Only NetworkMode::Shared knows them.
  void observe_loads(LoadObserver observer) { load_observer_ = std::move(observer); }

  /// Runs the job to its end, once. Without SimulationInput::machine at most once per process, but with
  /// EngineMode::Bare: SimGrid does not forget its platform.
  /// @param timeline null: nobody listens
  /// @param timeline_ranks of a folded job: whose spans the timeline gets; empty: the simulated ones
  /// @throws StallError when the job cannot go on, std::invalid_argument for `flows` without SimGrid
  SimulationResult run(TimelineSink* timeline, std::span<const std::uint32_t> timeline_ranks = {});

 private:
  SimulationResult run_once(TimelineSink* timeline);
  [[nodiscard]] std::unique_ptr<Machine> make_machine(const Executor& executor) const;
  [[nodiscard]] std::unique_ptr<Network> make_network() const;
  void connect(Network& network, Executor& executor, const Machine& machine) const;
  void add_load_observers(Network& network) const;

  const SimulationInput& input_;
  SimulationOptions options_;
  LoadObserver load_observer_;  // may be empty
  std::unique_ptr<ExecutorSpec> spec_;
  std::unique_ptr<const Folding> folding_;  // null: all ranks are simulated
};

/// Simulation{input, options}.run(timeline).
SimulationResult simulate(const SimulationInput& input, const SimulationOptions& options,
                          TimelineSink* timeline);

}  // namespace lockstep
