#include "scenario/resolved_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "scenario/machine_defaults.hpp"
#include "scenario/machine_spec.hpp"
#include "scenario/placed_machine.hpp"
#include "scenario/scenario_file.hpp"
#include "scenario/scenario_places.hpp"
#include "scenario/shared_parts.hpp"
#include "sim/compiled_program.hpp"
#include "sim/log.hpp"
#include "traces/chakra/chakra_job.hpp"
#include "traces/chakra/program_trace.hpp"

namespace lockstep {
namespace {

template <class Spec>
Spec named_or(const std::optional<Named<Spec>>& given, const std::string& usual, const ConfigPath& configs) {
  return given ? **given : read_file<Spec>(configs.find(Spec::kConfigKind, usual), configs);
}

void expect_rank(int rank, std::size_t ranks) {
  if (static_cast<std::size_t>(rank) >= ranks) {
    throw std::invalid_argument{
        fmt::format("there is no rank {}: the job has ranks 0 to {}", rank, ranks - 1)};
  }
}

/// Ranks that the scenario names exist, and spreads that it takes from elsewhere.
void check_variation(const YamlDocument& document, const VariationSpec& vary, std::size_t ranks,
                     const HostOverheads& host) {
  at_key(document, "vary.host", [&] { return host_jitter(vary.host, host); });
  at_key(document, "vary.kernels", [&] {
    if (vary.kernels.distribution == Distribution::Measured) {
      throw std::invalid_argument{"no spread of kernels is measured: say one, e.g. lognormal 0.05"};
    }
    return 0;
  });
  at_key(document, "vary.slow_ranks", [&] {
    std::ranges::for_each(vary.slow_ranks, [&](const SlowRank& slow) { expect_rank(slow.rank, ranks); });
    return 0;
  });
  at_key(document, "vary.noise", [&] {
    for (const NoiseSpec& noise : vary.noise) {
      std::ranges::for_each(noise.ranks, [&](int rank) { expect_rank(rank, ranks); });
    }
    return 0;
  });
}

/// A trace brings its durations and gaps: what only a workload heeds is not passed over, unless it says what
/// holds anyway (as effective.yaml does).
void reject_keys_of_workloads(const ScenarioSpec& scenario, const YamlDocument& document) {
  const ScenarioSpec usual;
  std::vector<Problem> problems;
  const auto expect = [&](const char* key, bool is_usual) {
    if (!is_usual) {
      problems.push_back({location_of(document, key),
                          fmt::format("'{}' says how a workload is run; of a trace, 'trace.ranks' and "
                                      "'trace.repeats' can be said",
                                      key)});
    }
  };
  expect("host", !scenario.host);
  expect("parallelism", scenario.parallelism == usual.parallelism);
  expect("steps", scenario.steps == usual.steps);
  if (!problems.empty()) {
    throw InputError{std::move(problems)};
  }
}

/// The folder of the file in which @p key_path stands; of a value from the command line, the current one.
std::filesystem::path folder_of(const YamlDocument& document, const std::string& key_path) {
  const std::string& file = location_of(document, key_path).file;
  return document.covers(file) ? std::filesystem::path{file}.parent_path() : std::filesystem::path{};
}

/// Removes the gaps between kernels, which a trace's durations contain.
void take_gaps_out(Gpus& gpus) {
  for (GpuSpec& gpu : gpus.models) {
    gpu.launch_to_start = Seconds{0};
    gpu.kernel_gap = Seconds{0};
  }
}

/// Whether hosts launch what GPUs do: not in traces, except those that Lockstep wrote of Programs.
bool has_launches(const YamlDocument& document, const ScenarioSpec& scenario) {
  return !scenario.trace || chakra::kind_of_traces(*scenario.trace, folder_of(document, "trace.chakra")) ==
                                chakra::TraceKind::Program;
}

/// Peaks of the ranks' GPUs: of 16 bits, which training computes in, or what else they do best.
std::vector<chakra::NodeRates> rates_of(const Gpus& gpus) {
  std::vector<chakra::NodeRates> rates;
  for (const std::uint32_t model : gpus.of_rank) {
    const GpuSpec& gpu = gpus.models[model];
    const FlopsPerSecond half = std::max(gpu.peak.fp16, gpu.peak.bf16);
    rates.push_back({half > FlopsPerSecond{0} ? half : gpu.peak.fp32, gpu.memory_bandwidth});
  }
  return rates;
}

Job job_of_trace(const YamlDocument& document, const ScenarioSpec& scenario, const Fabric& fabric,
                 const Gpus& gpus, ImportReport& report) {
  return at_key(document, "trace", [&] {
    return chakra_job(*scenario.trace, folder_of(document, "trace.chakra"), fabric.gpus(), rates_of(gpus),
                      &report);
  });
}

Job make_job(const YamlDocument& document, const ScenarioSpec& scenario, const Fabric& fabric,
             const HostOverheads& host, const Gpus& gpus) {
  std::vector<Bytes> memory;
  for (const std::uint32_t model : gpus.of_rank) {
    memory.push_back(gpus.models[model].usable());
  }
  Job job = at_key(document, "workload", [&] {
    return job_or_shared(*scenario.workload, scenario.parallelism, fabric, host, memory);
  });
  job.steps = scenario.steps;
  return job;
}

/// A job that no scenario describes.
struct GivenJob {
  const Job& job;
  bool has_launches;
};

/// Every rank on the GPU of its number.
Job placed_on(Job job, const Fabric& fabric, const YamlDocument& document) {
  if (fabric.gpus().size() < job.ranks.size()) {
    throw InputError{location_of(document, "cluster"), fmt::format("cluster: it has {} GPUs for {} ranks",
                                                                   fabric.gpus().size(), job.ranks.size())};
  }
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].gpu = fabric.gpus()[rank];
  }
  return job;
}

/// Asks every kernel model once: a GPU that cannot do what it is asked for says so before anything is
/// simulated.
void check_kernels(const Job& job, const Gpus& gpus) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const std::uint32_t program = job.ranks[rank].program;
    if (known.emplace(program, gpus.of_rank[rank]).second) {
      (void)time_kernels(*job.programs[program], gpus.models[gpus.of_rank[rank]]);
    }
  }
}

}  // namespace

JitterSpec host_jitter(const JitterSpec& asked, const HostOverheads& host) {
  if (asked.distribution != Distribution::Measured) {
    return asked;
  }
  if (!(host.spread > 0)) {
    throw std::invalid_argument{fmt::format(
        "the host '{}' has no 'spread': 'lockstep calibrate host' reads one off traces; or say it here, "
        "e.g. lognormal 0.3",
        host.name)};
  }
  return {Distribution::Lognormal, host.spread};
}

namespace {

/// Logs the size of what was resolved.
void tell(const Fabric& fabric, const Job& job, const std::string& profile, const std::string& host) {
  log_of(LogComponent::Scenario)
      .debug(
          "machine of {} GPUs and {} links; {} ranks of {} programs in {} groups; collectives '{}', host "
          "'{}'",
          fabric.gpus().size(), fabric.links().size(), job.ranks.size(), job.programs.size(),
          job.groups.size(), profile, host);
}

/// The parts of a scenario, and the job that takes place there.
/// @param given null: the job of the scenario's workload or trace
ResolvedScenario build(const YamlDocument& document, const ConfigPath& configs, ScenarioSpec scenario,
                       const GivenJob* given) {
  if (scenario.matrix.kind != YamlNode::Kind::Null) {
    throw InputError{location_of(document, "matrix"),
                     "this scenario has a matrix of points: 'lockstep sweep' simulates them all"};
  }
  PlacedMachine machine = placed_machine(document, scenario, configs);
  Fabric& fabric = machine.fabric;
  Gpus& gpus = machine.gpus;
  const GpuSpec& first = gpus.models.front();
  auto host = at_key(document, "host", [&] { return named_or(scenario.host, usual_host(first), configs); });
  auto profile = at_key(document, "collectives", [&] {
    return scenario.collectives.profile
               ? **scenario.collectives.profile
               : read_file<CollectiveProfile>(configs.find("profiles", usual_profile(fabric, first)),
                                              configs);
  });
  if (scenario.trace) {
    reject_keys_of_workloads(scenario, document);
  }
  const bool launches = given != nullptr ? given->has_launches : has_launches(document, scenario);
  if (!launches) {
    take_gaps_out(gpus);
  }
  ImportReport odd;
  Job job = given != nullptr ? placed_on(given->job, fabric, document)
            : scenario.trace ? job_of_trace(document, scenario, fabric, gpus, odd)
                             : make_job(document, scenario, fabric, host.at_speed(), gpus);
  check(job);
  check_variation(document, scenario.vary, job.ranks.size(), host);
  at_key(document, "workload.precision", [&] {
    check_kernels(job, gpus);
    return 0;
  });
  gpus.of_rank.resize(job.ranks.size());
  tell(fabric, job, profile.name, host.name);
  return {std::move(scenario),
          std::move(fabric),
          std::move(gpus.models),
          std::move(gpus.of_rank),
          std::move(host),
          std::move(profile),
          std::move(job),
          location_of(document, "collectives"),
          location_of(document, "cluster"),
          1.0,
          launches,
          std::move(odd),
          machine.placement};
}

}  // namespace

ResolvedScenario build(const YamlDocument& document, const ConfigPath& configs) {
  auto scenario = read_document<ScenarioSpec>(document, configs);
  if (scenario.schedule || scenario.campaign) {
    const std::string key = scenario.schedule ? "schedule" : "campaign";
    throw InputError{
        location_of(document, key),
        fmt::format("this scenario has a {}, which 'lockstep schedule' predicts; --set {}=null takes the "
                    "full model's step alone",
                    key, key)};
  }
  return build(document, configs, std::move(scenario), nullptr);
}

ResolvedScenario build_machine(const YamlDocument& document, const ConfigPath& configs, const Job& job) {
  auto machine = read_document<MachineSpec>(document, configs);
  const GivenJob given{job, !machine.gaps_in_durations};
  return build(document, configs, std::move(machine.scenario), &given);
}

CollectiveOptions collective_options(const ResolvedScenario& resolved) {
  return options_of(resolved.scenario.collectives, resolved.profile);
}

YamlDocument portable(YamlDocument document, const ConfigPath& configs) {
  const auto& entries = document.root().entries;
  if (std::ranges::find(entries, "trace", &YamlEntry::key) == entries.end()) {
    return document;  // the only key whose files are found beside the document
  }
  const auto trace = read_document<ScenarioSpec>(document, configs).trace;
  const auto in_full = [&](const std::string& key, const std::string& name) {
    const auto path = std::filesystem::absolute(folder_of(document, key) / name);
    document.set(key, quoted_if_needed(path.string()));
  };
  if (trace) {
    in_full("trace.chakra", trace->chakra);
  }
  if (trace && trace->groups) {
    in_full("trace.groups", *trace->groups);
  }
  return document;
}

}  // namespace lockstep
