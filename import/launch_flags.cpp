#include "import/launch_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "import/launch_job.hpp"
#include "scenario/scenario_file.hpp"

namespace lockstep::importing {
namespace {

/// GPUs of each node, in the order of nodes.
std::vector<int> gpus_by_node(const Fabric& fabric) {
  std::vector<int> counts;
  for (const VertexId gpu : fabric.gpus()) {
    const auto node = static_cast<std::size_t>(std::max(0, fabric.vertices()[gpu].node));
    counts.resize(std::max(counts.size(), node + 1));
    ++counts[node];
  }
  return counts;
}

LaunchJob job_of(const ScenarioSpec& scenario) {
  if (!scenario.workload || !scenario.workload->model->transformer) {
    throw InputError{{"--emit"}, "launch flags are written of a transformer's training"};
  }
  LaunchJob job{*scenario.workload, scenario.parallelism};
  const std::vector<int> counts = gpus_by_node(scenario.cluster->fabric());
  int all = 0;
  for (const int count : counts) {
    all += count;
  }
  const int ranks = scenario.parallelism.ranks.value_or(all);
  const int node = counts.empty() ? 1 : std::max(1, counts.front());
  job.gpus_per_node = std::min(scenario.parallelism.ranks_per_node.value_or(node), ranks);
  job.nodes = (ranks + job.gpus_per_node - 1) / job.gpus_per_node;
  return job;
}

std::string torchrun(const LaunchJob& job) {
  std::string text = fmt::format("torchrun --nnodes={} --nproc-per-node={}", job.nodes, job.gpus_per_node);
  return job.nodes > 1 ? text + " --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500" : text;
}

std::string continued(const std::string& command, const LaunchFlags& flags) {
  std::string text = command;
  for (const std::string& flag : flags.flags) {
    text += " \\\n    " + flag;
  }
  return text + "\n";
}

std::string head(const std::string& framework, const LaunchFlags& flags) {
  std::string text;
  for (const std::string& missing : flags.missing) {
    text += fmt::format("# without a flag of {}: {}\n", framework, missing);
  }
  return text;
}

std::string megatron(const LaunchJob& job) {
  const LaunchFlags flags = megatron_flags(job);
  const bool is_bert = job.model().family == TransformerFamily::Bert;
  return head("Megatron-LM", flags) + "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" +
         continued(torchrun(job) + (is_bert ? " pretrain_bert.py" : " pretrain_gpt.py"), flags);
}

std::string torchtitan(const LaunchJob& job) {
  const LaunchFlags flags = torchtitan_flags(job);
  return head("torchtitan", flags) + continued(torchrun(job) + " -m torchtitan.train", flags);
}

std::string deepspeed(const LaunchJob& job) {
  const LaunchFlags lines = deepspeed_lines(job);
  std::string text = head("DeepSpeed", lines) + "cat > ds_config.json <<'EOF'\n";
  for (const std::string& line : lines.flags) {
    text += line + "\n";
  }
  return text +
         fmt::format(
             "EOF\ndeepspeed --num_nodes {} --num_gpus {} train.py --deepspeed_config ds_config.json\n",
             job.nodes, job.gpus_per_node);
}

std::string plain_torchrun(const LaunchJob& job) {
  LaunchFlags flags;
  flags.lacks(true, "all but the numbers of nodes and GPUs: the program's own arguments");
  return head("torchrun", flags) + torchrun(job) + " train.py\n";
}

struct Framework {
  std::string_view name;
  std::string (*text)(const LaunchJob&);
};
constexpr auto kFrameworks = std::to_array<Framework>({{"megatron", megatron},
                                                       {"torchtitan", torchtitan},
                                                       {"deepspeed", deepspeed},
                                                       {"torchrun", plain_torchrun}});

}  // namespace

std::span<const std::string_view> launch_frameworks() {
  static const auto names = [] {
    std::array<std::string_view, kFrameworks.size()> all{};
    std::ranges::transform(kFrameworks, all.begin(), &Framework::name);
    return all;
  }();
  return names;
}

void expect_framework(const std::string& framework) {
  if (std::ranges::find(kFrameworks, framework, &Framework::name) == kFrameworks.end()) {
    const auto names = launch_frameworks();
    throw InputError{
        {"--emit"},
        "there is no framework '" + framework + "'" + did_you_mean(framework, {names.begin(), names.end()})};
  }
}

std::string launch_text(const std::string& framework, const YamlDocument& scenario,
                        const ConfigPath& configs) {
  expect_framework(framework);
  const LaunchJob job = job_of(read_document<ScenarioSpec>(scenario, configs));
  return std::ranges::find(kFrameworks, framework, &Framework::name)->text(job);
}

}  // namespace lockstep::importing
