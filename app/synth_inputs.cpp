#include "app/synth_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/kernels/shape_words.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/prediction.hpp"
#include "scenario/resolved_scenario.hpp"
#include "traces/replay/predicted_kernels.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Whether a job is named as a scenario; else it is a profile.
bool is_scenario(const std::string& job) {
  if (fs::is_directory(job)) return fs::exists(fs::path{job} / "scenario.yaml");
  if (job.ends_with(".json") || job.ends_with(".gz")) return false;
  return !fs::exists(job) || job.ends_with(".yaml") || job.ends_with(".yml");
}

bool is_shipped(const std::string& kind, const std::string& name) {
  return std::ranges::binary_search(ConfigPath::standard().names(kind), name);
}

/// `dgx_a100 x 1` where the scenario says its machine so, by names that everybody has.
std::string cluster_text(const YamlDocument& document) {
  const YamlEntry* const cluster = document.root().find("cluster");
  if (cluster == nullptr || cluster->value.kind != YamlNode::Kind::Scalar) return {};
  const std::string& text = cluster->value.scalar;
  const std::string name = text.substr(0, text.find(' '));
  return is_shipped("nodes", name) || is_shipped("clusters", name) ? text : std::string{};
}

synth::Recording of_scenario(const std::string& job) {
  const auto [path, configs, document] = open_scenario(job, {});
  ResolvedScenario setting = build(document, configs);
  synth::Recording made;
  made.gpu = setting.gpu_models[setting.gpu_model_of_rank.front()];
  if (!is_shipped("gpus", made.gpu.name)) made.gpu.name.clear();
  made.has_launches = setting.has_launches;
  made.interferes = setting.scenario.interferes();
  made.cluster = cluster_text(document);
  made.job = std::move(setting.job);
  return made;
}

/// The Program with the shapes of those kernels whose operators tell them, and what each kernel took.
struct ShapedProgram {
  Program program;
  std::vector<double> seconds;  // by kernel
};

ShapedProgram shaped(const Program& program, const replay::RankRecording& rank,
                     const std::vector<std::vector<std::uint32_t>>& subjects) {
  std::vector<const KernelCall*> shape(rank.trace.work.size(), nullptr);
  const std::vector<replay::ModelledWork> modelled = replay::modelled_work(rank);
  for (const replay::ModelledWork& work : modelled) {
    if (work.calls.size() == 1 && work.work.size() == 1) shape[work.work.front()] = &work.calls.front();
  }
  ShapedProgram made{program, {}};
  for (const KernelCall& call : program.kernels) {
    const auto* timed = std::get_if<Timed>(&call.work);
    made.seconds.push_back(timed != nullptr ? timed->duration.in_base_units() : 0);
  }
  for (std::size_t thread = 0; thread < made.program.threads.size(); ++thread) {
    auto& code = made.program.threads[thread].instructions;
    for (std::size_t i = 0; i < code.size(); ++i) {
      const bool is_launch = code[i].op == Opcode::Launch && i < subjects[thread].size();
      const std::uint32_t work = is_launch ? subjects[thread][i] : replay::kNone;
      if (work == replay::kNone || shape[work] == nullptr) continue;
      KernelCall call = *shape[work];
      call.name = program.kernels[code[i].operand].name;
      made.seconds.push_back(made.seconds[code[i].operand]);
      code[i].operand = static_cast<std::uint32_t>(made.program.kernels.size());
      made.program.kernels.push_back(std::move(call));
    }
  }
  return made;
}

synth::Recording of_profile(const std::string& job, const SynthInput& input) {
  synth::Recording made;
  std::vector<kineto::RecordedTrace> traces = replay::read_traces({job});
  const bool alone = traces.size() == 1;
  replay::Replay replay = [&] {
    try {
      return replay::make_replay(std::move(traces), alone ? input.ranks : 0);
    } catch (const std::invalid_argument& problem) {
      throw InputError{{job}, fmt::format("--ranks: {}", problem.what())};
    }
  }();
  made.job = std::move(replay.job);
  made.has_launches = false;
  if (input.gpu.empty()) return made;
  const ConfigPath configs = ConfigPath::standard();
  made.gpu = read_file<GpuSpec>(configs.find("gpus", input.gpu), configs);
  made.gpu.launch_to_start = Seconds{0};  // latencies and gaps are in the traces
  made.gpu.kernel_gap = Seconds{0};
  for (std::size_t i = 0; i < made.job.programs.size(); ++i) {
    ShapedProgram program = shaped(*made.job.programs[i], replay.ranks[i], replay.programs[i].subjects);
    made.job.programs[i] = std::make_shared<const Program>(std::move(program.program));
    made.seconds.push_back(std::move(program.seconds));
  }
  return made;
}

/// `hidden=768,layers=12`
synth::Symbols labels_of(const std::string& text) {
  synth::Symbols symbols;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find(',', first), text.size());
    const std::string word = text.substr(first, end - first);
    const std::size_t equals = word.find('=');
    const auto value = number_in(equals == std::string::npos ? "" : word.substr(equals + 1));
    if (equals == 0 || !value || !(*value > 0)) {
      throw std::invalid_argument{
          fmt::format("--label {}: a label is NAME=NUMBER,NAME=NUMBER, e.g. hidden=768,layers=12", text)};
    }
    symbols[word.substr(0, equals)] = *value;
    first = end + 1;
  }
  return symbols;
}

}  // namespace

std::vector<synth::Recording> read_recordings(const SynthInput& input) {
  if (!input.labels.empty() && input.labels.size() != input.jobs.size()) {
    throw std::invalid_argument{fmt::format("--label: {} of them for {} jobs: one for each, in their order",
                                            input.labels.size(), input.jobs.size())};
  }
  std::vector<synth::Recording> recordings;
  for (std::size_t i = 0; i < input.jobs.size(); ++i) {
    const std::string& job = input.jobs[i];
    recordings.push_back(is_scenario(job) ? of_scenario(job) : of_profile(job, input));
    if (!input.labels.empty()) recordings.back().labels = labels_of(input.labels[i]);
  }
  return recordings;
}

std::optional<Seconds> simulated_step(const std::string& job) {
  if (!is_scenario(job)) return std::nullopt;
  const auto [path, configs, document] = open_scenario(job, {});
  const ResolvedScenario setting = build(document, configs);
  return predict(setting, nullptr, EngineMode::Bare).mean_step();
}

}  // namespace lockstep
