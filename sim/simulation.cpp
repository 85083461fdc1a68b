#include "sim/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "sim/engine.hpp"
#include "sim/executor.hpp"
#include "sim/folding/fold.hpp"
#include "sim/known_kernels.hpp"
#include "sim/log.hpp"
#include "sim/network/alone.hpp"
#include "sim/network/flows.hpp"
#include "sim/network/shared.hpp"
#include "sim/stall.hpp"
#include "sim/tracing.hpp"

namespace lockstep {
namespace {

RankTiming timing_of(const SimulationInput& input, const SimulationOptions& options, std::size_t rank) {
  const GpuSpec& gpu = input.gpu_models[input.gpu_model_of_rank[rank]];
  RankTiming timing;
  timing.launch_to_start = gpu.launch_to_start.in_base_units();
  timing.kernel_gap = gpu.kernel_gap.in_base_units();
  timing.host_factor = input.host_factor.empty() ? 1.0 : input.host_factor[rank];
  timing.gpu_factor = input.gpu_factor.empty() ? 1.0 : input.gpu_factor[rank];
  timing.launch_queue =
      options.launch_queue != 0 ? options.launch_queue : static_cast<std::uint32_t>(gpu.launch_queue);
  timing.copy_engines = std::max(1, gpu.copy_engines / 2);  // half of them for each direction
  if (options.interference) {
    timing.interference = {gpu.sm_count, gpu.communication.sm_count, gpu.communication.memory_bandwidth};
  }
  return timing;
}

/// The place of @p timing among the latest of @p known, or a new one there: most ranks are like a neighbour.
std::uint32_t index_of(const RankTiming& timing, std::vector<RankTiming>& known) {
  constexpr std::ptrdiff_t kSearched = 16;
  const auto first = known.end() - std::min(std::ssize(known), kSearched);
  auto found = std::find(first, known.end(), timing);
  if (found == known.end()) {
    found = known.insert(found, timing);
  }
  return static_cast<std::uint32_t>(found - known.begin());
}

/// Programs are compiled once per GPU model that runs them.
void compile_programs(const SimulationInput& input, ExecutorSpec& spec) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  for (std::size_t rank = 0; rank < input.job->ranks.size(); ++rank) {
    const std::uint32_t program = input.job->ranks[rank].program;
    const std::uint32_t model = input.gpu_model_of_rank[rank];
    const auto [entry, fresh] =
        known.try_emplace({program, model}, static_cast<std::uint32_t>(spec.compiled.size()));
    if (fresh) {
      KnownKernels* const kept = input.known_kernels != nullptr ? &(*input.known_kernels)[model] : nullptr;
      spec.compiled.push_back(compile(*input.job->programs[program], input.gpu_models[model], kept));
    }
    spec.compiled_of_rank.push_back(entry->second);
  }
}

std::uint64_t instructions_per_step(const Job& job, const RankAssignment& rank) {
  std::uint64_t count = 0;
  for (const Program::Thread& thread : job.programs[rank.program]->threads) {
    count += thread.instructions.size();
  }
  return count;
}

std::uint64_t instructions_per_step(const Job& job) {
  std::uint64_t count = 0;
  for (const RankAssignment& rank : job.ranks) {
    count += instructions_per_step(job, rank);
  }
  return count;
}

/// Instructions of simulated ranks.
std::uint64_t simulated_instructions(const Job& job, const Folding* folding) {
  if (folding == nullptr) {
    return instructions_per_step(job);
  }
  std::uint64_t count = 0;
  for (const std::uint32_t rank : folding->representatives()) {
    count += instructions_per_step(job, job.ranks[rank]);
  }
  return count;
}

ExecutorSpec executor_spec(const SimulationInput& input, const SimulationOptions& options) {
  ExecutorSpec spec;
  spec.fabric = input.fabric;
  spec.plan_collective = input.plan_collective;
  spec.variation = input.variation;
  spec.noise = input.noise;
  spec.recorded_steps = options.recorded_steps;
  spec.stepped = options.stepped || options.interference;
  compile_programs(input, spec);
  const std::size_t ranks = input.job->ranks.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    spec.timing_of_rank.push_back(index_of(timing_of(input, options, rank), spec.timings));
  }
  const std::size_t metered = std::min<std::size_t>(ranks, options.metered_ranks);
  for (std::size_t i = 0; i < metered; ++i) {
    spec.metered_ranks.push_back(static_cast<std::uint32_t>(i * ranks / metered));
  }
  return spec;
}

SimulationResult result_of(Executor& executor) {
  SimulationResult result;
  result.step_ends = executor.context().step_ends;
  result.operations =
      instructions_per_step(executor.job()) * static_cast<std::uint64_t>(executor.job().steps);
  result.simulated_ranks = static_cast<std::uint32_t>(executor.ranks().size());
  for (std::uint32_t number = 0; number < executor.job().ranks.size(); ++number) {
    const Rank& rank = executor.rank_for(number);
    RankResult& of_rank = result.ranks.emplace_back();
    for (const Stream& stream : rank.streams()) {
      of_rank.streams.push_back(stream.totals());
      result.launches += stream.launches();
      result.fingerprint = (result.fingerprint ^ stream.fingerprint()) * 0x100000001b3ULL;
      of_rank.end = std::max(of_rank.end, stream.clock());
    }
    for (const HostThread& thread : rank.threads()) {
      of_rank.end = std::max(of_rank.end, thread.clock());
    }
    of_rank.host_blocked = rank.threads().front().blocked();
  }
  for (const std::uint32_t number : executor.spec().metered_ranks) {
    result.metered.push_back({number, executor.rank_for(number).activity->total()});
  }
  result.links = link_use(executor);
  if (executor.spec().record_rendezvous) {
    CriticalPath path = critical_path(executor);
    result.critical_path = std::move(path.shares);
    result.path_pieces = std::move(path.pieces);
  }
  return result;
}

/// @param machine null: without SimGrid
PlatformSize size_of(const Executor& executor, const Machine* machine) {
  PlatformSize size;
  if (machine != nullptr) {
    size.hosts = machine->host_count();
    size.links = machine->link_count();
  }
  for (const Rank& rank : executor.ranks()) {
    size.actors += rank.actors();
  }
  return size;
}

void drive(Executor& executor, EngineMode mode, Machine* machine) {
  switch (mode) {
    case EngineMode::RunAhead:
      run_in_simgrid(executor, *machine);
      break;
    case EngineMode::S4u:
      run_as_simgrid_actors(executor, *machine);
      break;
    case EngineMode::Bare:
      run_without_simgrid(executor);
      break;
  }
}

}  // namespace

Seconds SimulationResult::mean_step() const {
  const std::size_t steps = step_ends.size();
  return Seconds{steps == 1 ? step_ends.front()
                            : (step_ends.back() - step_ends.front()) / static_cast<double>(steps - 1)};
}

Simulation::Simulation(const SimulationInput& input, const SimulationOptions& options)
    : input_{input},
      options_{options},
      spec_{std::make_unique<ExecutorSpec>(executor_spec(input, options))},
      folding_{fold(*input.job, *spec_, options)} {
  spec_->folding = folding_.get();
  spec_->record_rendezvous =
      simulated_instructions(*input.job, folding_.get()) <= options.critical_path_limit;
}

Simulation::~Simulation() = default;

std::vector<std::uint32_t> Simulation::simulated_ranks() const {
  if (folding_) {
    return folding_->representatives();
  }
  std::vector<std::uint32_t> all(input_.job->ranks.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

SimulationResult Simulation::run(TimelineSink* timeline, std::span<const std::uint32_t> timeline_ranks) {
  if (!folding_) {
    return run_once(timeline);
  }
  std::optional<UnfoldedTimeline> unfolded;
  if (timeline != nullptr) {
    unfolded.emplace(*timeline, *folding_, timeline_ranks);
  }
  try {
    return run_once(unfolded ? &*unfolded : nullptr);
  } catch (const StallError&) {  // the message is about ranks, not about classes
    SimulationOptions in_full = options_;
    in_full.fold = false;
    in_full.engine = EngineMode::Bare;
    simulate(input_, in_full, nullptr);
    throw;
  }
}

std::unique_ptr<Network> Simulation::make_network() const {
  switch (options_.network) {
    case NetworkMode::Shared:
      return std::make_unique<SharedNetwork>(*input_.fabric);
    case NetworkMode::Alone:
      return std::make_unique<AloneNetwork>(*input_.fabric);
    case NetworkMode::Flows:
      if (options_.engine == EngineMode::Bare) {
        throw std::invalid_argument("network: flows are SimGrid's, so they need its engine");
      }
      return std::make_unique<FlowsNetwork>(*input_.fabric);
  }
  throw std::logic_error("a network without a name");
}

std::unique_ptr<Machine> Simulation::make_machine(const Executor& executor) const {
  const Fabric& fabric = *input_.fabric;  // flows take routes of their own
  auto machine = std::make_unique<Machine>(
      fabric, options_.network == NetworkMode::Flows ? every_part(fabric) : parts_in_use(executor),
      options_.tracing);
  log_of(LogComponent::Sim)
      .debug("SimGrid platform of {} hosts and {} links; the machine has {} GPUs and {} links",
             machine->host_count(), machine->link_count(), fabric.gpus().size(), fabric.links().size());
  return machine;
}

void Simulation::connect(Network& network, Executor& executor, const Machine& machine) const {
  if (auto* flows = dynamic_cast<FlowsNetwork*>(&network)) {
    flows->connect(
        machine, [&executor](TransferId transfer, double date) { executor.transfer_ended(transfer, date); });
  }
}

/// Observers: SimGrid's tracing and observe_loads().
void Simulation::add_load_observers(Network& network) const {
  auto* shared = dynamic_cast<SharedNetwork*>(&network);
  const bool is_traced = options_.engine != EngineMode::Bare && asks_for_tracing(options_.tracing);
  if (shared == nullptr || !(is_traced || load_observer_)) {
    return;
  }
  const auto trace = is_traced ? std::make_shared<LinkLoadTrace>(*input_.fabric) : nullptr;
  const Folding* const folding = folding_.get();
  shared->observe_loads([trace, folding, observer = load_observer_](LinkId link, double more, double date) {
    if (folding != nullptr && !folding->represents(link)) {
      return;
    }
    if (trace) {
      trace->add(link, more, date);
    }
    if (observer) {
      observer(link, more, date);
    }
  });
}

SimulationResult Simulation::run_once(TimelineSink* timeline) {
  std::unique_ptr<Machine> made;  // outlives the network, whose flows are SimGrid's
  const std::unique_ptr<Network> network = make_network();
  Executor executor{*input_.job, std::move(*spec_), *network, timeline};
  Machine* machine = nullptr;
  if (options_.engine != EngineMode::Bare) {
    made = input_.machine == nullptr ? make_machine(executor) : nullptr;
    machine = made ? made.get() : input_.machine;
    connect(*network, executor, *machine);
  }
  add_load_observers(*network);
  log_of(LogComponent::Sim)
      .debug("{} ranks of {} programs on {} GPU models; {} steps of {} instructions",
             input_.job->ranks.size(), input_.job->programs.size(), input_.gpu_models.size(),
             input_.job->steps, instructions_per_step(*input_.job));
  const auto began = std::chrono::steady_clock::now();
  drive(executor, options_.engine, machine);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (!executor.finished()) {
    throw StallError{folding_ ? "the folded job cannot go on" : explain_stall(executor)};
  }
  executor.finish();
  SimulationResult result = result_of(executor);
  result.platform = size_of(executor, machine);
  result.wall_seconds = took.count();
  return result;
}

SimulationResult simulate(const SimulationInput& input, const SimulationOptions& options,
                          TimelineSink* timeline) {
  return Simulation{input, options}.run(timeline);
}

}  // namespace lockstep
