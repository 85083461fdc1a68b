#include "search/plans/plan_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "base/effective.hpp"
#include "base/error.hpp"
#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "ops/model_flops.hpp"
#include "ops/workload/precision.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/scenario_file.hpp"
#include "scenario/straddling_groups.hpp"
#include "scenario/trust.hpp"

namespace lockstep {
namespace {

/// The times of a probe's passes, in the order in which they are printed.
template <class Passes>
auto times_of(Passes& passes) {
  std::vector<decltype(&passes.layers.forward)> times;
  for (auto* part : {&passes.layers, &passes.embedding, &passes.head}) {
    times.insert(times.end(), {&part->forward, &part->backward, &part->weights});
  }
  return times;
}

void print(std::string& text, const MemoryBreakdown& memory) {
  for (const double bytes : memory.bytes) {
    text += fmt::format(" {}", bytes);
  }
}

void read(std::istream& in, MemoryBreakdown& memory) {
  for (double& bytes : memory.bytes) {
    in >> bytes;
  }
}

const TransformerSpec& transformer_of(const ScenarioSpec& scenario, const SourceLocation& at) {
  const auto& workload = scenario.workload;
  if (!workload || !workload->model->transformer || workload->model->transformer->is_in_modules()) {
    throw InputError{
        at,
        "parallel plans are searched for transformers with 'implementation: megatron', 'nanotron', "
        "'torchtitan' or 'hugging_face_llama': others are data parallel only (tables of a DLRM: lockstep "
        "search)"};
  }
  return *workload->model->transformer;
}

std::vector<int> checked(std::vector<int> gpus, const ScenarioSpec& scenario, const Fabric& fabric) {
  ParallelismSpec placed = scenario.parallelism;
  placed.ranks.reset();
  const int all = place_ranks(placed, node_sizes(fabric)).ranks;
  if (gpus.empty()) {
    gpus.push_back(scenario.parallelism.ranks.value_or(all));
  }
  std::ranges::sort(gpus);
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  if (gpus.front() < 1) {
    throw std::invalid_argument{
        fmt::format("{} GPUs were asked for: at least 1, at most the cluster's {}", gpus.front(), all)};
  }
  if (gpus.back() > all) {
    throw std::invalid_argument{
        fmt::format("{} GPUs were asked for, the cluster has {}; 'lockstep size' lets the cluster grow",
                    gpus.back(), all)};
  }
  return gpus;
}

FlopsPerSecond peak_of_products(const GpuSpec& gpu, Precision precision) {
  return is_mixed(precision) ? std::max(gpu.peak.bf16, gpu.peak.fp16)
                             : std::max(gpu.peak.tf32, gpu.peak.fp32);
}

/// GPU kinds by rank, in PlanProblem's form.
std::vector<std::uint32_t> kinds_of(const ResolvedScenario& resolved) {
  if (resolved.gpu_models.size() == 1) {
    return {};
  }
  std::vector<std::uint32_t> fastest_first(resolved.gpu_models.size());
  std::iota(fastest_first.begin(), fastest_first.end(), 0U);
  std::ranges::stable_sort(fastest_first, std::ranges::greater{}, [&](std::uint32_t model) {
    const GpuSpec& gpu = resolved.gpu_models[model];
    return std::pair{peak_of_products(gpu, resolved.scenario.workload->precision), gpu.memory_bandwidth};
  });
  std::vector<std::uint32_t> kinds;
  for (const std::uint32_t model : resolved.gpu_model_of_rank) {
    const auto place = std::ranges::find(fastest_first, model) - fastest_first.begin();
    kinds.push_back(static_cast<std::uint32_t>(place));
  }
  return kinds;
}

}  // namespace

std::string printed(const PlanEvaluation& evaluation) {
  std::string text =
      fmt::format("{} {} {} {} {} {}", evaluation.step, evaluation.band, evaluation.normalised_memory,
                  evaluation.capacity, evaluation.host_share, evaluation.at_peak);
  print(text, evaluation.memory);
  return text;
}

PlanEvaluation evaluation_in(const std::string& printed) {
  std::istringstream in{printed};
  PlanEvaluation evaluation;
  in >> evaluation.step >> evaluation.band >> evaluation.normalised_memory >> evaluation.capacity >>
      evaluation.host_share >> evaluation.at_peak;
  read(in, evaluation.memory);
  return evaluation;
}

std::string printed(const ProbeAnswers& answers) {
  std::string text;
  for (const ProbeAnswer& answer : answers) {
    text += fmt::format("{} {}", answer.step, answer.compute);
    for (const double* time : times_of(answer.passes)) {
      text += fmt::format(" {}", *time);
    }
    print(text, answer.pass_memory);
    print(text, answer.update_memory);
    text += '\n';
  }
  return text;
}

ProbeAnswers probe_answers_in(std::istream& in) {
  ProbeAnswers answers{};
  for (ProbeAnswer& answer : answers) {
    in >> answer.step >> answer.compute;
    for (double* time : times_of(answer.passes)) {
      in >> *time;
    }
    read(in, answer.pass_memory);
    read(in, answer.update_memory);
  }
  return answers;
}

PlanEvaluator::PlanEvaluator(YamlDocument document, ConfigPath configs, std::vector<int> gpus)
    : document_{std::move(document)},
      configs_{std::move(configs)},
      scenario_{read_document<ScenarioSpec>(document_, configs_)} {
  problem_.model = transformer_of(scenario_, document_.root().at);
  problem_.model.sequence = scenario_.workload->sequence.value_or(problem_.model.sequence);
  problem_.global_batch = scenario_.workload->global_batch;
  const Fabric fabric = scenario_.cluster->fabric();
  problem_.gpus = checked(std::move(gpus), scenario_, fabric);
  problem_.gpus_of_node = scenario_.parallelism.ranks_per_node.value_or(node_sizes(fabric).most);
  problem_.types = {scenario_.workload->precision,
                    scenario_.workload->mixed_precision.value_or(MixedPrecision::Autocast)};
  problem_.framework = scenario_.workload->model->framework;
  problem_.base = with_own_fsdp(scenario_.parallelism.transformer, problem_.model);
}

ParallelismSpec PlanEvaluator::parallelism_of(const PlanCandidate& candidate) const {
  ParallelismSpec parallelism = scenario_.parallelism;
  parallelism.ranks = candidate.gpus;
  parallelism.transformer = candidate.plan;
  return parallelism;
}

YamlDocument PlanEvaluator::document_of(const PlanCandidate& candidate) const {
  YamlDocument document = document_;
  YamlNode parallelism = yaml_node(YamlNode::Kind::Mapping, document.root().at);
  if (const YamlEntry* given = document.root().find("parallelism")) {
    parallelism = given->value;
  }
  const YamlNode keys = yaml_of(candidate.plan);
  std::erase_if(parallelism.entries, [&](const YamlEntry& entry) {
    return entry.key == "ranks" || keys.find(entry.key) != nullptr;
  });
  document.set("parallelism", parallelism);
  for (const YamlEntry& entry : changes_of(parallelism_of(candidate)).entries) {
    if (parallelism.find(entry.key) == nullptr) {
      document.set("parallelism." + entry.key, flow_text(entry.value));
    }
  }
  document.set("workload.gradient_accumulation", "1");
  document.set("workload.micro_batch", std::to_string(candidate.micro_batch));
  return document;
}

std::string PlanEvaluator::effective(const PlanCandidate& candidate) const {
  return effective_text<ScenarioSpec>(document_of(candidate), configs_);
}

std::vector<std::string> PlanEvaluator::straddling(const PlanCandidate& candidate) const {
  return straddling_groups(build(document_of(candidate), configs_));
}

void PlanEvaluator::prepare(const PlanCandidate& any) {
  resolved_ = build(document_of(any), configs_);
  problem_.gpu_kinds = kinds_of(*resolved_);
  resolved_->job = {};  // of no use to others, and every probe's process has a copy
  messages_.emplace(*resolved_);
}

StageSimulator PlanEvaluator::stages() const {
  return StageSimulator{resolved_.value()};
}

EstimateInput PlanEvaluator::estimate_input(const PlanCandidate& candidate) const {
  EstimateInput input;
  input.layers = problem_.model.layers;
  input.tied = problem_.model.tied;
  if (candidate.plan.pipeline > 1) {
    input.messages = messages_->of(candidate, problem_);
    input.interference = messages_->interference();
  }
  return input;
}

MachineRates PlanEvaluator::rates() const {
  const ResolvedScenario& resolved = resolved_.value();
  const auto gpus = resolved.fabric.gpus();
  const auto between = [&](std::size_t other) {
    return bottleneck(resolved.fabric,
                      resolved.fabric.route(gpus[0], gpus[std::min(other, gpus.size() - 1)]));
  };
  const FlopsPerSecond peak =
      peak_of_products(resolved.gpu_models.front(), resolved.scenario.workload->precision);
  return {peak, between(1), between(static_cast<std::size_t>(problem_.gpus_of_node))};
}

Bytes PlanEvaluator::whole_memory(Bytes allocated) const {
  return allocated * (1 + scenario_.memory.fragmentation) + scenario_.memory.context;
}

Bytes PlanEvaluator::capacity() const {
  if (!scenario_.memory.check_capacity) {
    return Bytes{std::numeric_limits<double>::infinity()};
  }
  const auto& models = resolved_.value().gpu_models;
  return std::ranges::min_element(models, {}, &GpuSpec::usable)->usable();
}

Bytes PlanEvaluator::most_capacity() const {
  const auto& models = resolved_.value().gpu_models;
  return std::max(capacity(), std::ranges::max_element(models, {}, &GpuSpec::usable)->usable());
}

Bytes PlanEvaluator::normalised_memory(const PlanCandidate& candidate,
                                       const std::vector<Bytes>& of_stages) const {
  const auto& models = resolved_.value().gpu_models;
  const auto [least, most] = std::ranges::minmax(models, {}, &GpuSpec::usable);
  const bool are_alike = least.usable() == most.usable();
  std::vector<Bytes> smallest(of_stages.size(), most.usable());
  const std::size_t stride = static_cast<std::size_t>(stage_stride(candidate)), stages = of_stages.size();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(candidate.gpus) && !are_alike; ++rank) {
    Bytes& of_stage = smallest[rank / stride % stages];
    of_stage = std::min(of_stage, models[resolved_->gpu_model_of_rank[rank]].usable());
  }
  Bytes result;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    result = std::max(result, whole_memory(of_stages[stage]) * (least.usable() / smallest[stage]));
  }
  return result;
}

double PlanEvaluator::fullness(const PlanCandidate& candidate, const std::vector<Bytes>& of_stages) const {
  return normalised_memory(candidate, of_stages) / capacity();
}

bool PlanEvaluator::needs_own_process() const {
  return scenario_.network == ScenarioNetwork::Flows;
}

PlanEvaluation PlanEvaluator::evaluate(const std::optional<PlanCandidate>& candidate) const {
  const ResolvedScenario resolved = build(candidate ? document_of(*candidate) : document_, configs_);
  PlanEvaluation evaluation;
  const bool is_checked = scenario_.memory.check_capacity;
  if (const auto fullest = fullest_rank(resolved)) {
    evaluation.memory = fullest->memory;
    const Bytes smallest = std::ranges::min_element(resolved.gpu_models, {}, &GpuSpec::usable)->usable();
    evaluation.normalised_memory = (fullest->share() * smallest).in_base_units();
    evaluation.capacity = is_checked ? fullest->capacity.in_base_units() : 0;
  }
  if (const auto host = fullest_host(resolved); host && is_checked) {
    evaluation.host_share = host->share();
  }
  if (evaluation.fits()) {
    const SimulationResult result =
        predict(resolved, nullptr, needs_own_process() ? std::nullopt : std::optional{EngineMode::Bare});
    evaluation.step = result.mean_step().in_base_units();
    evaluation.band = step_band(resolved, result).relative;
    evaluation.at_peak =
        time_at_peak(resolved.job, resolved.gpu_models, resolved.gpu_model_of_rank).in_base_units();
  }
  return evaluation;
}

}  // namespace lockstep
