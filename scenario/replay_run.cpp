#include "scenario/replay_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "scenario/machine_defaults.hpp"
#include "topology/peer_access.hpp"
#include "traces/kineto/recorded_steps.hpp"
#include "traces/pytorch_et/kineto_arguments.hpp"
#include "traces/pytorch_et/trace_reader.hpp"

namespace lockstep {
namespace {

constexpr double kMega = 1e6;

/// Gives spans to several listeners.
class Fork final : public TimelineSink {
 public:
  Fork(TimelineSink& first, TimelineSink* second) : first_{first}, second_{second} {}
  void write(std::span<const TimelineSpan> spans) override {
    first_.write(spans);
    if (second_ != nullptr) {
      second_->write(spans);
    }
  }

 private:
  TimelineSink& first_;
  TimelineSink* second_;
};

/// Shapes of operators from execution traces, for profiles that were recorded without.
void add_shapes(const ReplaySpec& spec, const SourceLocation& at,
                std::vector<kineto::RecordedTrace>& recorded) {
  if (!spec.execution_traces.empty() && spec.execution_traces.size() != recorded.size()) {
    throw InputError{at, fmt::format("execution_traces: {} of them for {} profiles: one for each is needed",
                                     spec.execution_traces.size(), recorded.size())};
  }
  for (std::size_t i = 0; i < spec.execution_traces.size(); ++i) {
    pytorch_et::add_arguments(recorded[i], pytorch_et::read_execution_trace(spec.execution_traces[i]));
  }
}

/// @throws InputError also for how ranks communicate on a cluster that there is not
ReplaySpec spec_of(const YamlDocument& document, const ConfigPath& configs) {
  auto spec = read_document<ReplaySpec>(document, configs);
  const YamlEntry* const collectives = document.root().find("collectives");
  if (!spec.cluster && collectives != nullptr && !collectives->value.entries.empty()) {
    throw InputError{
        collectives->value.at,
        "collectives: says nothing without 'cluster', the machine to simulate them on: as recorded "
        "they take as long as they did"};
  }
  return spec;
}

/// The place of an entry of `what_if.kernels`.
SourceLocation at_kernels(const YamlDocument& document, std::size_t edit) {
  const YamlEntry* const what_if = document.root().find("what_if");
  const YamlEntry* const kernels = what_if == nullptr ? nullptr : what_if->value.find("kernels");
  const bool is_there = kernels != nullptr && edit < kernels->value.items.size();
  return is_there ? kernels->value.items[edit].at : document.root().at;
}

/// The place of a key; where it is left out, that of the document.
SourceLocation at_key(const YamlDocument& document, const std::string& key) {
  const YamlEntry* const entry = document.root().find(key);
  return entry == nullptr ? document.root().at : entry->value.at;
}

std::vector<EmbeddingTable> named_tables(const ReplaySpec& spec) {
  return spec.embedding_tables ? spec.embedding_tables->all_tables() : std::vector<EmbeddingTable>{};
}

KernelFamilies families_of(const ReplaySpec& spec) {
  return spec.kernel_families ? families_with((*spec.kernel_families)->rows) : standard_families();
}

replay::Replay replay_of(const std::vector<std::string>& traces, const ReplaySpec& spec,
                         const KernelFamilies& families, const SourceLocation& at) {
  std::vector<kineto::RecordedTrace> recorded = replay::read_traces(traces);
  add_shapes(spec, at, recorded);
  auto ranks = static_cast<std::uint32_t>(spec.ranks);
  if (ranks == 0 && spec.cluster && recorded.size() == 1 && recorded.front().world_size > 1) {
    ranks = static_cast<std::uint32_t>(recorded.front().world_size);
  }
  try {
    return replay::make_replay(std::move(recorded), ranks, families);
  } catch (const std::invalid_argument& problem) {
    throw InputError{at, fmt::format("ranks: {}", problem.what())};
  }
}

/// Launches and pieces of GPU work that the profiler lost.
std::size_t lost_work(const replay::Replay& replay) {
  std::size_t count = 0;
  for (const replay::RankRecording& rank : replay.ranks) {
    count += static_cast<std::size_t>(
        std::ranges::count(rank.trace.lost, kineto::LostEvent::Kind::Work, &kineto::LostEvent::kind));
  }
  return count;
}

/// Adds the work that the traces lack in the steps that a change is about; in their windows, for traces
/// without steps.
void add_doubts(const replay::WhatIfSpec& change, const replay::Replay& replay, ReplayRun::Result& result) {
  std::vector<std::string> steps;
  for (const replay::RankComparison& rank : result.ranks) {
    for (const replay::StepPair& step : rank.steps) {
      if (step.misses_work && std::ranges::find(steps, step.name) == steps.end()) {
        steps.push_back(step.name);
      }
    }
  }
  const auto add = [&](const std::string& text) {
    result.remark += (result.remark.empty() ? "" : "; ") + text;
  };
  if (!steps.empty()) {
    add(fmt::format("not to be trusted: GPU work of {}{} has no record", steps.front(),
                    steps.size() == 1 ? "" : fmt::format(" and {} more steps", steps.size() - 1)));
  } else if (const std::size_t lost = lost_work(replay);
             lost > 0 &&
             std::ranges::all_of(result.ranks, [](const auto& rank) { return rank.steps.empty(); })) {
    add(fmt::format("not to be trusted: {} launches or pieces of GPU work have no record", lost));
  }
  double silence = 0;
  for (const CriticalShare& share : result.simulation.critical_path) {
    silence += share.part == PathPart::Silence ? share.seconds : 0;
  }
  constexpr double kMuch = 0.05;
  if (change.host_speed != 1 && silence > kMuch * result.simulation.makespan().in_base_units()) {
    add(fmt::format("{:.3f} ms of its critical path are time of the host in which nothing was recorded",
                    1e3 * silence));
  }
}

}  // namespace

ReplayRun::ReplayRun(const std::vector<std::string>& traces, const YamlDocument& document,
                     const ConfigPath& configs)
    : spec_{spec_of(document, configs)},
      families_{families_of(spec_)},
      at_{document.root().at},
      configs_{configs},
      replay_{replay_of(traces, spec_, families_, document.root().at)},
      machine_{std::make_shared<const RecordedMachine>(spec_, replay_.job.ranks.size(), configs,
                                                       document.root().at)} {
  expect_known_families(document);
  place(document.root().at);
  if (const CollectivePlanner* const planner = machine_->planner()) {
    try {
      transfers_ = replay::resimulate_collectives(replay_.job, replay_.ranks, *planner, fabric());
    } catch (const std::invalid_argument& problem) {
      throw InputError{document.root().at, fmt::format("cluster: {}", problem.what())};
    }
  }
  if (spec_.gpu) {
    try {
      kernels_ = replay::predict_kernels(
          replay_, **spec_.gpu, spec_.recorded_gpu ? &**spec_.recorded_gpu : nullptr, named_tables(spec_));
    } catch (const std::invalid_argument& problem) {
      if (!spec_.embedding_tables) throw;
      throw InputError{at_key(document, "embedding_tables"),
                       fmt::format("embedding_tables: {}", problem.what())};
    }
  }
  check(replay_.job);
}

void ReplayRun::expect_known_families(const YamlDocument& document) const {
  for (std::size_t i = 0; i < spec_.what_if.kernels.size(); ++i) {
    const std::string& family = spec_.what_if.kernels[i].family;
    if (!family.empty() && !std::ranges::binary_search(families_.names(), family)) {
      throw InputError{at_kernels(document, i),
                       fmt::format("there is no family '{}' of kernels; there are {}", family,
                                   fmt::join(families_.names(), ", "))};
    }
  }
}

void ReplayRun::place(const SourceLocation& at) {
  const std::size_t ranks = replay_.job.ranks.size();
  if (!spec_.cluster && ranks > replay_.ranks.size()) {
    throw InputError{at,
                     "ranks: more ranks than traces communicate otherwise than was recorded: say the machine "
                     "with cluster: NAME"};
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    replay_.job.ranks[rank].gpu = fabric().gpus()[rank];
  }
}

Job ReplayRun::changed(const Job& job, const replay::WhatIfSpec& change) const {
  try {
    std::vector<replay::KernelOrigins> origins;
    for (const replay::RankProgram& rank : replay_.programs) {
      origins.push_back(rank.origins);
    }
    return replay::edited(job, change, std::move(origins));
  } catch (const std::invalid_argument& problem) {
    throw InputError{at_, problem.what()};
  }
}

replay::Rebucketed ReplayRun::with_buckets(const replay::BucketEdit& edit) const {
  try {
    return replay::rebucketed(replay_, edit);
  } catch (const std::invalid_argument& problem) {
    throw InputError{at_, fmt::format("what_if.buckets: {}", problem.what())};
  }
}

std::shared_ptr<const RecordedMachine> ReplayRun::machine_for(const replay::WhatIfSpec& change) const {
  if (!change.cluster && !change.network) {
    return machine_;
  }
  ReplaySpec other = spec_;
  if (change.cluster) {
    other.cluster = change.cluster;
  }
  const char* const key = change.network ? "what_if.network" : "what_if.cluster";
  try {
    if (!other.cluster) {
      throw std::invalid_argument{
          "say the machine that was recorded, whose network this changes, with cluster: NAME"};
    }
    if (!spec_.cluster && change.buckets) {
      throw std::invalid_argument{
          "other buckets on another machine need the machine that was recorded: cluster: NAME"};
    }
    if (!spec_.cluster && replay_.ranks.front().trace.world_size > static_cast<int>(replay_.ranks.size())) {
      throw std::invalid_argument{fmt::format(
          "{} of the job's {} ranks have traces: say the machine that was recorded with cluster: NAME",
          replay_.ranks.size(), replay_.ranks.front().trace.world_size)};
    }
    if (change.network) {
      replay::change_network(*change.network, other.cluster->value);
    }
    return std::make_shared<const RecordedMachine>(other, replay_.job.ranks.size(), configs_, at_);
  } catch (const std::invalid_argument& problem) {
    throw InputError{at_, fmt::format("{}: {}", key, problem.what())};
  }
}

void ReplayRun::move(Job& job, const RecordedMachine& machine, std::string& remark) const {
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].gpu = machine.fabric().gpus()[rank];
  }
  if (spec_.cluster) {
    return;  // its collectives have sizes
  }
  try {
    const auto transfers =
        replay::resimulate_collectives(job, replay_.ranks, *machine.planner(), machine.fabric());
    if (const auto count = std::ranges::count_if(transfers, &replay::TransferComparison::is_inferred)) {
      remark = fmt::format(
          "the traces do not say the sizes of {} of {} collectives, which take their recorded time: say the "
          "machine that was recorded with cluster: NAME",
          count, transfers.size());
    }
  } catch (const std::invalid_argument& problem) {
    throw InputError{at_, fmt::format("what_if.cluster: {}", problem.what())};
  }
}

ReplayRun::Result ReplayRun::simulate(const replay::WhatIfSpec* change, const OpenSink& open_timeline,
                                      EngineMode engine) const {
  const bool has_buckets = change != nullptr && change->buckets;
  const replay::Rebucketed other = has_buckets ? with_buckets(*change->buckets) : replay::Rebucketed{};
  const auto machine = change != nullptr ? machine_for(*change) : machine_;
  Result result;
  Job recorded = has_buckets ? other.job : replay_.job;
  if (machine != machine_) {
    move(recorded, *machine, result.remark);
    engine = EngineMode::Bare;  // SimGrid's platform is that of the replay's machine
  }
  const Job job = change != nullptr ? changed(recorded, *change) : std::move(recorded);
  replay::ReplayObserver observer =
      has_buckets ? replay::ReplayObserver{replay_, other.subjects} : replay::ReplayObserver{replay_};
  Fork listeners{observer, open_timeline ? open_timeline(job, machine->fabric()) : nullptr};
  const double host_factor = change != nullptr ? 1 / change->host_speed : 1.0;
  result.simulation = machine->simulate(job, host_factor, &listeners, engine);
  result.ranks = observer.compare();
  result.machine = machine;
  if (has_buckets) {
    result.remark = fmt::format("{} all-reduces of gradients a rank instead of {}, {:.4g} MB", other.made,
                                other.recorded, other.bytes / kMega);
  }
  if (change != nullptr) {
    add_doubts(*change, replay_, result);
  }
  return result;
}

}  // namespace lockstep
