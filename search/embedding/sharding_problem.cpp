#include "search/embedding/sharding_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "ops/workload/dlrm.hpp"
#include "ops/workload/table_shards.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/scenario_file.hpp"

namespace lockstep {
namespace {

/// A plan that always can be built: every table cut by rows, or all on one rank, memory or not.
YamlDocument with_some_plan(YamlDocument document, const DlrmSpec& dlrm) {
  EmbeddingPlan plan;
  TableShardingSpec& all = plan.tables.emplace_back();
  if (takes_cut_tables(dlrm)) {
    all.sharding = TableSharding::RowWise;
  } else {
    all.ranks = {0};
  }
  all.tables.resize(dlrm.all_tables().size());
  std::iota(all.tables.begin(), all.tables.end(), std::int64_t{0});
  document.set("parallelism.embedding.plan", sharding::in_one_line(plan));
  document.set("parallelism.embedding.respect_memory", "false");
  return document;
}

const DlrmSpec& dlrm_of(const ScenarioSpec& scenario, const YamlDocument& document) {
  if (!scenario.workload || !scenario.workload->model->dlrm) {
    throw InputError{
        document.root().at,
        "embedding tables can be placed where a DLRM is trained: this scenario's workload has none (plans of "
        "transformers: lockstep plan)"};
  }
  return *scenario.workload->model->dlrm;
}

std::vector<Bytes> gpu_memory(const ResolvedScenario& resolved) {
  std::vector<Bytes> memory;
  for (const VertexId gpu : resolved.fabric.gpus()) {
    (void)gpu;
    const std::size_t rank = memory.size();
    const std::size_t known = std::min(rank, resolved.gpu_model_of_rank.size() - 1);
    memory.push_back(resolved.gpu_models[resolved.gpu_model_of_rank[known]].usable());
  }
  return memory;
}

std::span<const VertexId> gpus_of(const ResolvedScenario& resolved) {
  return resolved.fabric.gpus().first(resolved.job.ranks.size());
}

/// Whether indices are copied within the step, each to where its table is.
bool copies_within_step(const EmbeddingPlanSpec& plan) {
  return plan.pipeline == InputPipeline::None && !plan.input_distribution;
}

/// Where plans are placed as if memory were endless, but are to fit: all that the GPU has.
Bytes room_for_tables(const ResolvedScenario& resolved, const EmbeddingPlanSpec& plan, Bytes memory) {
  if (plan.respect_memory) {
    return plan.memory_share * memory;
  }
  return resolved.scenario.memory.check_capacity ? memory : Bytes{std::numeric_limits<double>::max()};
}

sharding::Task task_of(const ResolvedScenario& resolved, const EmbeddingPlanSpec& plan) {
  const DlrmSpec& dlrm = *resolved.scenario.workload->model->dlrm;
  sharding::Task task;
  task.batch = resolved.scenario.workload->global_batch;
  task.may_cut = takes_cut_tables(dlrm);
  task.optimizer = table_optimizer(dlrm.optimizer);
  for (const EmbeddingTable& table : dlrm.all_tables()) {
    task.tables.push_back({table, {}});
  }
  for (const std::uint32_t model : resolved.gpu_model_of_rank) {
    task.capacity.push_back(room_for_tables(resolved, plan, resolved.gpu_models[model].usable()));
  }
  const std::size_t first = first_table_rank(dlrm, task.capacity.size());
  std::fill_n(task.capacity.begin(), first, Bytes{0});
  return task;
}

}  // namespace

ShardingProblem::ShardingProblem(YamlDocument document, const ConfigPath& configs)
    : document_{std::move(document)} {
  const auto scenario = read_document<ScenarioSpec>(document_, configs);
  const DlrmSpec& dlrm = dlrm_of(scenario, document_);
  resolved_ = std::make_unique<ResolvedScenario>(build(with_some_plan(document_, dlrm), configs));
  resolved_->scenario.parallelism.embedding = scenario.parallelism.embedding;
  task_ = task_of(*resolved_, scenario.parallelism.embedding);
  planner_ = std::make_unique<CollectivePlanner>(resolved_->fabric, collective_options(*resolved_));
  exchanges_ = std::make_unique<const Exchanges>(exchanges_among(gpus_of(*resolved_)));
  if (copies_within_step(scenario.parallelism.embedding)) {
    add_inputs();
  }
}

/// Of nodes: all GPUs of one have equally many indices, and the last to have them all decides.
void ShardingProblem::add_inputs() {
  const DlrmSpec& dlrm = *resolved_->scenario.workload->model->dlrm;
  const Bytes indices = static_cast<double>(task_.batch) *
                        size_of(dlrm.index_type == IndexType::Int32 ? DataType::INT32 : DataType::INT64);
  std::vector<BytesPerSecond> alone;
  for (const std::uint32_t model : resolved_->gpu_model_of_rank) {
    alone.push_back(resolved_->gpu_models[model].host_copy.pinned);
  }
  inputs_ =
      std::make_unique<const sharding::InputCosts>(resolved_->fabric, gpus_of(*resolved_), alone, indices);
  const std::vector<double> equal(alone.size(), 1);
  std::vector<VertexId> firsts;
  std::vector<BytesPerSecond> of_nodes;
  for (const std::vector<std::uint32_t>& ranks : ranks_of_node()) {
    Seconds last;
    for (const std::uint32_t rank : ranks) {
      last = std::max(last, inputs_->alone(rank, 1) + inputs_->held_up(rank, equal));
    }
    firsts.push_back(gpus_of(*resolved_)[ranks.front()]);
    of_nodes.push_back(indices / last);
  }
  inputs_of_nodes_ =
      std::make_unique<const sharding::InputCosts>(resolved_->fabric, firsts, of_nodes, indices);
}

Exchanges ShardingProblem::exchanges_among(std::span<const VertexId> gpus) const {
  const double samples = static_cast<double>(task_.batch) / static_cast<double>(task_.devices());
  const TravellingElements element = travelling_elements();
  return {{*planner_, resolved_->fabric, gpus, samples * element.forward, false},
          {*planner_, resolved_->fabric, gpus, samples * element.backward, true}};
}

ShardStorage ShardingProblem::storage() const {
  return storage_of_shards(resolved_->scenario.workload->model->dlrm->optimizer);
}

TravellingElements ShardingProblem::travelling_elements() const {
  const WorkloadSpec& workload = *resolved_->scenario.workload;
  const CommunicationTypes& types = resolved_->scenario.parallelism.embedding.communication_type;
  const auto of = [&](CommunicationType type) {
    return travelling_element(*workload.model->dlrm, workload.precision, type);
  };
  return {of(types.forward), of(types.backward)};
}

Bytes ShardingProblem::gradient_of_copies() const {
  const WorkloadSpec& workload = *resolved_->scenario.workload;
  return size_of(workload.model->dlrm->implementation == DlrmImplementation::HugeCtr
                     ? storage_type(workload.precision)
                     : DataType::FP32);
}

Exchanges ShardingProblem::exchanges_of_nodes() const {
  std::vector<VertexId> gpus;
  for (const auto& ranks : ranks_of_node()) {
    gpus.push_back(gpus_of(*resolved_)[ranks.front()]);
  }
  return exchanges_among(gpus);
}

sharding::ModelCosts::Setup ShardingProblem::setup(double exposed) const {
  double rows = 0;
  for (const sharding::Table& table : task_.tables) {
    rows += static_cast<double>(table.shape.rows);
  }
  return {.gpus = resolved_->gpu_models,
          .gpu_of_device = resolved_->gpu_model_of_rank,
          .optimizer = task_.optimizer,
          .batch = task_.batch,
          .rows = rows,
          .exposed = exposed,
          .inputs = inputs_.get()};
}

sharding::ModelCosts ShardingProblem::costs(double exposed) const {
  return {setup(exposed), exchanges_->forward, exchanges_->backward};
}

/// The one that all tables would take longest.
std::uint32_t ShardingProblem::slowest_kind(const std::vector<std::uint32_t>& ranks) const {
  const sharding::ModelCosts costs = this->costs(1);
  const auto all_on = [&](std::uint32_t rank) {
    sharding::Load load;
    for (const sharding::Table& table : task_.tables) {
      load.add(costs.load_of(table, table.shape.dimension, costs.kind_of(rank)));
    }
    return costs.compute(load);
  };
  return costs.kind_of(*std::ranges::max_element(ranks, {}, all_on));
}

sharding::ModelCosts ShardingProblem::costs_of_nodes(const Exchanges& exchanges) const {
  sharding::ModelCosts::Setup setup = this->setup(1);
  setup.inputs = inputs_of_nodes_.get();
  setup.gpu_of_device.clear();
  for (const std::vector<std::uint32_t>& ranks : ranks_of_node()) {
    setup.gpu_of_device.push_back(setup.gpus.size() == 1 ? 0 : slowest_kind(ranks));
  }
  return {std::move(setup), exchanges.forward, exchanges.backward};
}

std::vector<sharding::TableExtent> ShardingProblem::extents() const {
  std::vector<sharding::TableExtent> extents;
  for (const sharding::Table& table : task_.tables) {
    extents.push_back({table.shape.rows, table.shape.dimension});
  }
  return extents;
}

std::vector<std::vector<std::uint32_t>> ShardingProblem::ranks_of_node() const {
  std::vector<int> nodes;
  for (const VertexId gpu : gpus_of(*resolved_)) {
    nodes.push_back(resolved_->fabric.vertices()[gpu].node);
  }
  return RankNodes{nodes.size(), nodes}.nodes();
}

Job ShardingProblem::job_under(const EmbeddingPlan& plan) const {
  const ResolvedScenario& resolved = *resolved_;
  ParallelismSpec parallelism = resolved.scenario.parallelism;
  parallelism.embedding.plan.emplace();
  parallelism.embedding.plan->value = plan;
  try {
    Job job = make_job(*resolved.scenario.workload, parallelism, resolved.fabric, resolved.host.at_speed(),
                       gpu_memory(resolved));
    job.steps = resolved.scenario.steps;
    return job;
  } catch (const InputError&) {
    throw;
  } catch (const std::invalid_argument& problem) {
    throw InputError{document_.root().at, problem.what()};
  }
}

ResolvedScenario ShardingProblem::under(const EmbeddingPlan& plan) const {
  ResolvedScenario resolved = *resolved_;
  resolved.scenario.parallelism.embedding.plan.emplace();
  resolved.scenario.parallelism.embedding.plan->value = plan;
  resolved.job = job_under(plan);
  return resolved;
}

bool ShardingProblem::has_memory_for(const EmbeddingPlan& plan) const {
  try {
    check_memory(under(plan));
    return true;
  } catch (const OutOfMemoryError&) {
    return false;
  } catch (const TablesDoNotFit&) {
    return false;
  }
}

std::optional<Seconds> ShardingProblem::step_time(const EmbeddingPlan& plan) const {
  try {
    const ResolvedScenario resolved = under(plan);
    check_memory(resolved);
    return predict(resolved, nullptr, EngineMode::Bare).mean_step();
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  } catch (const TablesDoNotFit&) {
    return std::nullopt;
  }
}

}  // namespace lockstep
