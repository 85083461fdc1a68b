#include "ops/workload/dlrm.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "ops/workload/dlrm_step.hpp"
#include "ops/workload/table_shards.hpp"

namespace lockstep {
namespace {

void check_setup(const DlrmSpec& spec, const TrainingSetup& setup) {
  const auto ranks = static_cast<std::int64_t>(setup.gpus.size());
  if (setup.global_batch < ranks || setup.global_batch % ranks != 0) {
    throw std::invalid_argument{
        fmt::format("global_batch {} cannot be divided evenly among {} GPUs", setup.global_batch, ranks)};
  }
  if (!setup.parallelism.embedding.plan && static_cast<std::int64_t>(spec.all_tables().size()) < ranks) {
    throw std::invalid_argument{
        fmt::format("{} embedding tables cannot be placed table-wise on {} GPUs: each needs one",
                    spec.all_tables().size(), ranks)};
  }
  if (is_mixed(setup.precision)) {
    throw std::invalid_argument{"a DLRM is trained in fp32 or tf32"};
  }
}

void check_kernels(const DlrmSpec& spec, const EmbeddingPlanSpec& plan) {
  if (!plan.plan || spec.embedding_kernels == EmbeddingKernels::Fbgemm) {
    return;
  }
  for (const TableShardingSpec& entry : (*plan.plan)->tables) {
    if (entry.kernel != TableKernel::Fused) {
      throw InputError{entry.at,
                       fmt::format("'kernel: {}' is FBGEMM's: the model needs 'embedding_kernels: fbgemm'",
                                   name_of(entry.kernel))};
    }
  }
}

/// Bytes of a table's element, optimizer state included: Adagrad keeps one FP32 sum for each weight.
Bytes bytes_per_element(DlrmOptimizer optimizer) {
  return (optimizer == DlrmOptimizer::Adagrad ? 2.0 : 1.0) * size_of(DataType::FP32);
}

std::vector<Bytes> capacity_for_tables(const EmbeddingPlanSpec& plan, std::span<const Bytes> gpu_memory) {
  std::vector<Bytes> capacity;
  for (const Bytes memory : gpu_memory) {
    capacity.push_back(plan.respect_memory ? plan.memory_share * memory
                                           : Bytes{std::numeric_limits<double>::infinity()});
  }
  return capacity;
}

}  // namespace

EmbeddingPlan embedding_plan(const DlrmSpec& spec, const EmbeddingPlanSpec& plan,
                             std::span<const Bytes> gpu_memory) {
  if (plan.plan) {
    return **plan.plan;
  }
  const TablePlacement placement = place_tables(spec.all_tables(), capacity_for_tables(plan, gpu_memory),
                                                plan.planner, bytes_per_element(spec.optimizer));
  EmbeddingPlan chosen;
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    if (placement[rank].empty()) {
      throw std::invalid_argument{fmt::format("the embedding planner leaves GPU {} without a table", rank)};
    }
    TableShardingSpec& entry = chosen.tables.emplace_back();
    entry.tables.assign(placement[rank].begin(), placement[rank].end());
    entry.ranks = {static_cast<std::int64_t>(rank)};
  }
  return chosen;
}

Job dlrm_job(const DlrmSpec& spec, const TrainingSetup& setup) {
  check_setup(spec, setup);
  const EmbeddingPlanSpec& plan = setup.parallelism.embedding;
  check_kernels(spec, plan);
  const Bytes element = bytes_per_element(spec.optimizer);
  std::vector<ShardGroup> tables =
      shard_tables(spec.all_tables(), embedding_plan(spec, plan, setup.gpu_memory),
                   RankNodes{setup.gpus.size(), setup.gpu_nodes}, capacity_for_tables(plan, setup.gpu_memory),
                   {.sharded = element, .replicated = element + size_of(DataType::FP32)});
  StepWriter step{setup.host, setup.gpus.size(), setup.framework, setup.precision};
  DlrmStep writer{step, spec, setup, std::move(tables)};
  writer.write();
  const DlrmMemoryShape shape = writer.memory_shape();
  std::vector<MemoryBreakdown> memory, host_memory;
  for (std::size_t rank = 0; rank < setup.gpus.size(); ++rank) {
    memory.push_back(dlrm_memory(shape, rank));
    host_memory.push_back(dlrm_host_memory(shape, rank));
  }
  Job job = std::move(step).finish(setup.gpus);
  job.memory = std::move(memory);
  job.host_memory = std::move(host_memory);
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].memory = rank;
  }
  return job;
}

}  // namespace lockstep
