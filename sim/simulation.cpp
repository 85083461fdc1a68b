#include "sim/simulation.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>

#include "sim/engine.hpp"
#include "sim/executor.hpp"
#include "sim/network/alone.hpp"
#include "sim/network/flows.hpp"
#include "sim/network/shared.hpp"
#include "sim/stall.hpp"

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
    timing.interference = {static_cast<double>(gpu.communication.sm_count) / gpu.sm_count,
                           gpu.communication.memory_bandwidth};
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
      spec.compiled.push_back(compile(*input.job->programs[program], input.gpu_models[model]));
    }
    spec.compiled_of_rank.push_back(entry->second);
  }
}

std::uint64_t instructions_per_step(const Job& job) {
  std::uint64_t count = 0;
  for (const RankAssignment& rank : job.ranks) {
    for (const Program::Thread& thread : job.programs[rank.program]->threads) {
      count += thread.instructions.size();
    }
  }
  return count;
}

ExecutorSpec executor_spec(const SimulationInput& input, const SimulationOptions& options) {
  ExecutorSpec spec;
  spec.fabric = input.fabric;
  spec.plan_collective = input.plan_collective;
  spec.variation = input.variation;
  spec.noise = input.noise;
  spec.stepped = options.stepped || options.interference;
  spec.record_last_step = instructions_per_step(*input.job) <= options.critical_path_limit;
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

std::vector<LinkUse> link_use(const Executor& executor) {
  std::map<LinkId, double> bytes;
  const auto add = [&](const CollectivePlan& plan, std::uint64_t uses) {
    for (const LinkLoad& load : plan.loads) {
      bytes[load.link] += load.share * plan.size.in_base_units() * static_cast<double>(uses);
    }
  };
  for (const Communicator& group : executor.communicators()) {
    for (const auto& use : group.plans()) {
      add(use.plan, use.uses);
    }
  }
  for (const auto& copy : executor.copies()) {
    add(copy.plan, copy.uses);
  }
  std::vector<LinkUse> links;
  for (const auto& [link, total] : bytes) {
    if (total > 0) {
      links.push_back({link, total});
    }
  }
  return links;
}

SimulationResult result_of(const Executor& executor) {
  SimulationResult result;
  result.step_ends = executor.context().step_ends;
  result.operations =
      instructions_per_step(executor.job()) * static_cast<std::uint64_t>(executor.job().steps);
  for (const Rank& rank : executor.ranks()) {
    RankResult& of_rank = result.ranks.emplace_back();
    for (const Stream& stream : rank.streams()) {
      of_rank.streams.push_back(stream.totals());
      result.launches += stream.launches();
      result.fingerprint = (result.fingerprint ^ stream.fingerprint()) * 0x100000001b3ULL;
    }
    of_rank.host_blocked = rank.threads().front().blocked();
    if (rank.activity) {
      result.metered.push_back({rank.number(), rank.activity->total()});
    }
  }
  result.links = link_use(executor);
  if (executor.spec().record_last_step) {
    result.critical_path = critical_path(executor);
  }
  return result;
}

void run(Executor& executor, EngineMode mode, Machine* machine) {
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

SimulationResult simulate(const SimulationInput& input, const SimulationOptions& options,
                          TimelineSink* timeline) {
  std::unique_ptr<Machine> machine;
  if (options.engine != EngineMode::Bare) {
    machine = std::make_unique<Machine>(*input.fabric);
  }
  std::unique_ptr<Network> network;
  FlowsNetwork* flows = nullptr;
  switch (options.network) {
    case NetworkMode::Shared:
      network = std::make_unique<SharedNetwork>(*input.fabric);
      break;
    case NetworkMode::Alone:
      network = std::make_unique<AloneNetwork>(*input.fabric);
      break;
    case NetworkMode::Flows:
      if (!machine) {
        throw std::invalid_argument("network: flows are SimGrid's, so they need its engine");
      }
      auto made = std::make_unique<FlowsNetwork>(*machine, *input.fabric);
      flows = made.get();
      network = std::move(made);
      break;
  }
  Executor executor{*input.job, executor_spec(input, options), *network, timeline};
  if (flows != nullptr) {
    flows->announce_to(
        [&executor](TransferId transfer, double date) { executor.transfer_ended(transfer, date); });
  }
  spdlog::debug("{} ranks of {} programs on {} GPU models; {} steps of {} instructions",
                input.job->ranks.size(), input.job->programs.size(), input.gpu_models.size(),
                input.job->steps, instructions_per_step(*input.job));
  const auto began = std::chrono::steady_clock::now();
  run(executor, options.engine, machine.get());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (!executor.finished()) {
    throw StallError{explain_stall(executor)};
  }
  executor.finish();
  SimulationResult result = result_of(executor);
  result.wall_seconds = took.count();
  return result;
}

}  // namespace lockstep
