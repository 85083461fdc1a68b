#include "app/synth_outputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/interruption.hpp"
#include "app/result_folder.hpp"
#include "app/trace_conversion.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/named.hpp"
#include "base/parameters.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/kernels/shape_words.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "ops/data_type_name.hpp"
#include "scenario/machine_defaults.hpp"
#include "sim/communicator.hpp"
#include "synth/score.hpp"
#include "topology/cluster_spec.hpp"
#include "traces/chakra/job_writer.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReport = "report.json";

/// A machine on the command line.
struct SynthMachineSpec {
  Named<ClusterSpec> cluster;

  template <class Visitor>
  static void describe(Visitor& key, SynthMachineSpec& spec) {
    key.required("cluster", spec.cluster, "the machine, e.g. dgx_a100 x 2");
  }
  void check() const {}
};

Fabric fabric_of(const std::string& cluster, const ConfigPath& configs) {
  const YamlDocument document = YamlDocument::from_text(fmt::format("cluster: {}\n", cluster), "--cluster");
  return read_document<SynthMachineSpec>(document, configs).cluster->fabric();
}

std::string scenario_text(const synth::Sample& sample, const synth::JobModel& source,
                          const SynthTarget& target, const ChakraFiles& files) {
  std::string text = fmt::format("# Synthetic traces (lockstep synth).\nname: Synthetic trace of {} ranks\n",
                                 sample.job.ranks.size());
  text += fmt::format("cluster: {}\n", target.machine.cluster);
  if (!target.machine.gpu.empty()) text += fmt::format("gpu: {}\n", target.machine.gpu);
  text += fmt::format("interference: {}\n", source.interferes);
  text += fmt::format("trace:\n  chakra: {}\n  ranks: {}\n  repeats: {}\n", files.name_of("%d"),
                      sample.job.ranks.size(), sample.job.steps);
  return text + (sample.job.groups.empty() ? "" : fmt::format("  groups: {}\n", files.name_of_groups()));
}

bool is_of_sample(const std::string& name) {
  return is_of_chakra(name) || name == kReport;
}

}  // namespace

SynthKnobs knobs_of(const std::vector<std::string>& assignments) {
  SynthKnobs knobs;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : assignment.substr(equals + 1);
    if (name.empty() || value.empty()) {
      throw std::invalid_argument{fmt::format("--set {}: a knob is NAME=VALUE, e.g. layers=48", assignment)};
    }
    if (name == "gpu") {
      knobs.gpu = value;
    } else if (name == "precision") {
      constexpr std::array kLow{DataType::FP16, DataType::BF16, DataType::FP8};
      const auto* const type =
          std::ranges::find_if(kLow, [&](DataType low) { return data_type_name(low) == value; });
      if (type == kLow.end()) {
        throw std::invalid_argument{fmt::format("--set precision={}: one of fp16, bf16, fp8", value)};
      }
      knobs.sample.precision = *type;
    } else {
      const auto number = number_in(value);
      if (!number || *number < 1 || *number > 1e12 || *number != std::floor(*number)) {
        throw std::invalid_argument{fmt::format("--set {}: a whole number from 1 on", assignment)};
      }
      knobs.sample.symbols[name] = *number;
    }
  }
  return knobs;
}

SynthMachine machine_for(const synth::JobModel& job, const SynthMachine& given, double ranks) {
  SynthMachine machine = given;
  if (!machine.cluster.empty()) return machine;
  if (job.cluster.empty()) {
    throw std::invalid_argument{
        "the model does not know the machine (its traces do not say it, or it is none of configs/): say "
        "--cluster, e.g. --cluster 'dgx_a100 x 1'"};
  }
  const double recorded = static_cast<double>(job.ranks.size());
  machine.cluster = job.cluster;
  if (machine.gpu.empty()) machine.gpu = job.gpu;
  if (ranks > recorded) {  // so many times as many nodes
    const std::size_t times = job.cluster.find(" x ");
    const double nodes = times == std::string::npos ? 1 : std::stod(job.cluster.substr(times + 3));
    machine.cluster = fmt::format("{} x {:.0f}", job.cluster.substr(0, times), nodes * ranks / recorded);
  }
  return machine;
}

GpuSpec gpu_of(const SynthMachine& machine, std::uint32_t ranks) {
  const ConfigPath configs = ConfigPath::standard();
  const Fabric fabric = fabric_of(machine.cluster, configs);
  if (fabric.gpus().size() < ranks) {
    throw InputError{
        {"--cluster"},
        fmt::format("{} has {} GPUs for {} ranks", machine.cluster, fabric.gpus().size(), ranks)};
  }
  const std::string model =
      machine.gpu.empty() ? fabric.vertices()[fabric.gpus().front()].model : machine.gpu;
  return read_file<GpuSpec>(configs.find("gpus", model), configs);
}

synth::CollectiveTime collective_times(const SynthMachine& machine, const GpuSpec& gpu) {
  struct Times {
    Fabric fabric;
    CollectivePlanner planner;
    Times(const std::string& cluster, const GpuSpec& gpu, const ConfigPath& configs)
        : fabric{fabric_of(cluster, configs)},
          planner{
              fabric,
              {read_file<CollectiveProfile>(configs.find("profiles", usual_profile(fabric, gpu)), configs),
               {},
               {}}} {}
  };
  const auto times = std::make_shared<Times>(machine.cluster, gpu, ConfigPath::standard());
  return [times](const CollectiveCall& call, const ProcessGroup& group) {
    std::vector<VertexId> members;
    for (const std::uint32_t rank : group.ranks) members.push_back(times->fabric.gpus()[rank]);
    return time_alone(times->planner.plan(even_request(call), members), times->fabric).in_base_units();
  };
}

void write_sample(const synth::Sample& sample, const synth::JobModel& source, const GpuSpec& gpu,
                  const SynthTarget& target, const std::string& report) {
  ResultFolder results{target.folder, is_of_sample};
  const Interruption interruption{[&results] {
    remove_unfinished_files();
    results.abandon();
  }};
  ChakraFiles files;
  files.folder = results.staged();
  files.gzip = target.gzip;
  const std::vector<GpuSpec> gpus{gpu};
  const std::vector<std::uint32_t> of_rank(sample.job.ranks.size(), 0);
  static_cast<void>(
      write_chakra({&sample.job, gpus, of_rank, source.has_launches}, files, [](std::uint32_t) {}));
  write_whole_file(files.folder / "scenario.yaml", scenario_text(sample, source, target, files));
  write_whole_file(files.folder / kReport, report);
  results.commit();
}

synth::Recording recording_of(const synth::Sample& sample, const GpuSpec& gpu) {
  synth::Recording made;
  made.job = sample.job;
  made.gpu = gpu;
  return made;
}

std::string sample_report(const synth::Model& model, const synth::Sample& sample,
                          const synth::SampleOptions& options, const GpuSpec& gpu) {
  std::vector<synth::Recording> sources;
  for (std::size_t i = 0; i < model.jobs.size(); ++i) {
    synth::SampleOptions plain;
    plain.exact = true;
    synth::Model one;
    one.jobs.push_back(model.jobs[i]);
    sources.push_back(recording_of(synth::sample(one, gpu, plain), gpu));
  }
  const synth::Nearest near = synth::nearest(recording_of(sample, gpu), sources);
  Json knobs = Json::object();
  for (const auto& [name, value] : options.symbols) knobs[name] = value;
  const Json report{{"schema", "lockstep-synth-report.1"},
                    {"seed", options.seed},
                    {"jobs_in_the_model", model.jobs.size()},
                    {"knobs", std::move(knobs)},
                    {"symbols", sample.symbols},
                    {"waits_left_out", sample.repairs},
                    {"nearest_source",
                     {{"job", near.source},
                      {"sequence_distance", near.sequence_distance},
                      {"size_distance_octaves", near.size_distance}}}};
  return report.dump(2) + "\n";
}

}  // namespace lockstep
