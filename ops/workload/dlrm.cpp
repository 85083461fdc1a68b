#include "ops/workload/dlrm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include "ops/workload/dlrm_step.hpp"
#include "ops/workload/hugectr/hugectr_dlrm.hpp"
#include "ops/workload/table_shards.hpp"

namespace lockstep {

ShardStorage storage_of_shards(DlrmOptimizer optimizer) {
  ShardStorage storage{storage_of(table_optimizer(optimizer)), storage_of(dense_optimizer(optimizer))};
  storage.replicated.state += size_of(DataType::FP32);
  return storage;
}

std::size_t first_table_rank(const DlrmSpec& spec, std::size_t ranks) {
  constexpr std::size_t kFew = 4;
  return spec.bottom_mlp_placement == BottomMlpPlacement::FirstRank && ranks > kFew ? 1 : 0;
}

bool takes_cut_tables(const DlrmSpec& spec) {
  return spec.bottom_mlp_placement == BottomMlpPlacement::EveryRank &&
         spec.implementation != DlrmImplementation::HugeCtr;
}

DataType feature_type(const DlrmSpec& spec, Precision precision) {
  const bool narrow = spec.implementation == DlrmImplementation::HugeCtr ||
                      spec.embedding_kernels == EmbeddingKernels::Joint ||
                      spec.interaction_kernels == InteractionKernels::Fused || spec.casts_rows;
  return narrow ? storage_type(precision) : DataType::FP32;
}

Bytes travelling_element(const DlrmSpec& spec, Precision precision, CommunicationType type) {
  const DataType features = feature_type(spec, precision);
  return features == DataType::FP32 ? encoded_size(1, type) : size_of(features);
}

namespace {

/// A reuse_factor is of a batch, which has to have as many lookups.
void check_reuse(const DlrmSpec& spec, std::int64_t global_batch) {
  const std::vector<EmbeddingTable> tables = spec.all_tables();
  for (std::size_t number = 0; number < tables.size(); ++number) {
    const double lookups = static_cast<double>(global_batch) * tables[number].pooling_factor;
    if (tables[number].reuse_factor > std::max(1.0, lookups)) {
      throw std::invalid_argument{fmt::format(
          "reuse_factor {:g} of table {}, lookups of each different row of a batch, is more than "
          "the {:g} lookups of all: fewer than one different row; 1 to {:g}, or 0 to have it follow",
          tables[number].reuse_factor, number, lookups, std::max(1.0, lookups))};
    }
  }
}

void check_setup(const DlrmSpec& spec, const TrainingSetup& setup) {
  const auto ranks = static_cast<std::int64_t>(setup.gpus.size());
  if (setup.global_batch < ranks || setup.global_batch % ranks != 0) {
    throw std::invalid_argument{
        fmt::format("global_batch {} cannot be divided evenly among {} GPUs", setup.global_batch, ranks)};
  }
  if (spec.embedding_kernels == EmbeddingKernels::EmbeddingBag && ranks > 1) {
    throw std::invalid_argument{fmt::format(
        "'embedding_kernels: embedding_bag' trains on one GPU, not {}: modules of nn.EmbeddingBag are "
        "not exchanged by themselves; fbgemm, batched and joint are",
        ranks)};
  }
  check_reuse(spec, setup.global_batch);
  if (setup.precision == Precision::FP8) {
    throw std::invalid_argument{"a DLRM is trained in fp32, tf32, fp16 or bf16"};
  }
}

/// Refuses an entry that the model's implementation does not have.
void check_entry(const DlrmSpec& spec, const TableShardingSpec& entry) {
  const bool hugectr = spec.implementation == DlrmImplementation::HugeCtr;
  if (entry.kernel != TableKernel::Fused && (hugectr || spec.embedding_kernels != EmbeddingKernels::Fbgemm)) {
    throw InputError{entry.at,
                     fmt::format("'kernel: {}' is FBGEMM's: the model needs {}", name_of(entry.kernel),
                                 hugectr ? "'implementation: pytorch'" : "'embedding_kernels: fbgemm'")};
  }
  if (entry.kernel != TableKernel::Fused && spec.optimizer == DlrmOptimizer::Adagrad) {
    throw InputError{entry.at,
                     fmt::format("'kernel: {}' keeps tables in host memory, where Adagrad's sums for each "
                                 "element have no model; sums by row stay on the GPU: 'optimizer: "
                                 "rowwise_adagrad'",
                                 name_of(entry.kernel))};
  }
  if (!hugectr && entry.sharding == TableSharding::RowWise && !entry.ranks.empty()) {
    throw InputError{entry.at,
                     "row_wise tables live on all ranks: leave 'ranks' out; some ranks share rows with "
                     "'implementation: hugectr'"};
  }
  if (!hugectr && !entry.nodes.empty()) {
    throw InputError{entry.at,
                     "a table_row_wise table lives on one node ('node'); several share rows with "
                     "'implementation: hugectr'"};
  }
}

void check_entries(const DlrmSpec& spec, const EmbeddingPlanSpec& plan) {
  if (plan.plan) {
    for (const TableShardingSpec& entry : (*plan.plan)->tables) {
      check_entry(spec, entry);
    }
  }
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
  const std::size_t first = first_table_rank(spec, gpu_memory.size());
  const TablePlacement placement =
      place_tables(spec.all_tables(), capacity_for_tables(plan, gpu_memory.subspan(first)), plan.planner,
                   storage_of_shards(spec.optimizer).sharded);
  EmbeddingPlan chosen;
  for (std::size_t place = 0; place < placement.size(); ++place) {
    if (placement[place].empty()) {
      continue;  // a rank without a table, as a plan may leave one
    }
    TableShardingSpec& entry = chosen.tables.emplace_back();
    entry.tables.assign(placement[place].begin(), placement[place].end());
    entry.ranks = {static_cast<std::int64_t>(first + place)};
  }
  return chosen;
}

namespace {

void check_first_rank(const DlrmSpec& spec, const TrainingSetup& setup,
                      const std::vector<ShardGroup>& tables) {
  if (takes_cut_tables(spec)) {
    return;
  }
  if (tables.size() != 1 || tables.front().sharding != TableSharding::TableWise) {
    throw std::invalid_argument{"bottom_mlp_placement: first_rank needs every table whole on one rank"};
  }
  if (setup.parallelism.embedding.input_distribution) {
    throw std::invalid_argument{
        "bottom_mlp_placement: first_rank has its inputs where they are needed: leave out "
        "input_distribution"};
  }
}

/// One program, and the ranks that run it.
Job part_job(const DlrmSpec& spec, const TrainingSetup& setup, const std::vector<ShardGroup>& tables,
             const DlrmPart& part) {
  StepWriter step{setup.host, setup.gpus.size(), setup.framework, setup.precision};
  DlrmStep writer{step, spec, setup, tables, part};
  writer.write();
  const DlrmMemoryShape shape = writer.memory_shape();
  std::vector<MemoryBreakdown> memory, host_memory;
  std::vector<std::vector<MemoryChange>> changes;
  for (std::size_t rank = 0; rank < setup.gpus.size(); ++rank) {
    memory.push_back(dlrm_memory(shape, rank));
    changes.push_back(dlrm_memory_changes(shape, rank));
    host_memory.push_back(dlrm_host_memory(shape, rank));
  }
  Job job = std::move(step).finish(setup.gpus);
  job.memory = std::move(memory);
  job.memory_changes = std::move(changes);
  job.host_memory = std::move(host_memory);
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].memory = rank;
  }
  return job;
}

/// Parts by rank.
std::vector<DlrmPart> parts_of(const DlrmSpec& spec, const std::vector<ShardGroup>& tables,
                               std::size_t ranks) {
  std::vector<DlrmPart> parts;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    DlrmPart& part = parts.emplace_back();
    part.bottom = rank == 0 || spec.bottom_mlp_placement == BottomMlpPlacement::EveryRank;
    for (const ShardGroup& group : tables) {
      part.tables.push_back(!group.shards[rank].empty());
    }
  }
  return parts;
}

/// Gives @p ranks of @p all the program that they have in @p others.
void take_over(Job& all, const Job& others, const std::vector<std::size_t>& ranks) {
  const std::vector<std::string> names = all.programs.front()->groups;
  all.programs.push_back(others.programs.front());
  for (const std::size_t rank : ranks) {
    const std::vector<std::uint32_t> groups = all.ranks[rank].groups;
    RankAssignment& assignment = all.ranks[rank];
    assignment = others.ranks[rank];
    assignment.program = static_cast<std::uint32_t>(all.programs.size() - 1);
    for (std::size_t group = 0; group < assignment.groups.size(); ++group) {
      const std::string& name = all.programs.back()->groups[group];
      const auto place = std::find(names.begin(), names.end(), name) - names.begin();
      assignment.groups[group] = groups.at(static_cast<std::size_t>(place));
    }
    all.memory[rank] = others.memory[rank];
    all.memory_changes[rank] = others.memory_changes[rank];
    all.host_memory[rank] = others.host_memory[rank];
  }
}

}  // namespace

Job dlrm_job(const DlrmSpec& spec, const TrainingSetup& setup) {
  check_setup(spec, setup);
  const EmbeddingPlanSpec& plan = setup.parallelism.embedding;
  check_entries(spec, plan);
  const std::vector<ShardGroup> tables =
      shard_tables(spec.all_tables(), embedding_plan(spec, plan, setup.gpu_memory),
                   RankNodes{setup.gpus.size(), setup.gpu_nodes}, capacity_for_tables(plan, setup.gpu_memory),
                   storage_of_shards(spec.optimizer));
  if (spec.implementation == DlrmImplementation::HugeCtr) {
    return hugectr_dlrm_job(spec, setup, tables);
  }
  check_first_rank(spec, setup, tables);
  const std::vector<DlrmPart> parts = parts_of(spec, tables, setup.gpus.size());
  std::map<DlrmPart, std::vector<std::size_t>> others;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank] != parts.back()) {
      others[parts[rank]].push_back(rank);
    }
  }
  Job job = part_job(spec, setup, tables, parts.back());
  for (const auto& [part, ranks] : others) {
    take_over(job, part_job(spec, setup, tables, part), ranks);
  }
  return job;
}

}  // namespace lockstep
