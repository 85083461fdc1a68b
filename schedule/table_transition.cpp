#include "schedule/table_transition.hpp"

#include <algorithm>
#include <vector>

#include "ops/workload/dlrm.hpp"
#include "ops/workload/table_storage.hpp"

namespace lockstep {
namespace {

std::vector<Bytes> usable_memory(const ResolvedScenario& resolved) {
  std::vector<Bytes> memory;
  for (const std::uint32_t model : resolved.gpu_model_of_rank) {
    memory.push_back(resolved.gpu_models[model].usable());
  }
  return memory;
}

/// The rank that holds each table whole, by table; -1: several ranks share it.
std::vector<std::int64_t> ranks_of_tables(const EmbeddingPlan& plan, std::size_t tables) {
  std::vector<std::int64_t> ranks(tables, -1);
  for (const TableShardingSpec& entry : plan.tables) {
    for (const std::int64_t table : entry.tables) {
      if (entry.sharding == TableSharding::TableWise) {
        ranks.at(static_cast<std::size_t>(table)) = entry.ranks.front();
      }
    }
  }
  return ranks;
}

double bytes_of(const EmbeddingTable& table, const DlrmSpec& dlrm) {
  return storage_of(table_optimizer(dlrm.optimizer))
      .of(static_cast<double>(table.rows), static_cast<double>(table.dimension))
      .in_base_units();
}

/// Work for a table whose rows or dimension change; one that there is not has 0 bytes.
TableWork work_of(double before, double after, Scoring score) {
  const double both = std::min(before, after);
  return {before > after && after > 0 && score != Scoring::None ? before : 0, before == after ? 0 : both,
          after - both};
}

/// Bytes of tables on the rank that has most.
double fullest_tables(const DlrmSpec& dlrm, const std::vector<std::int64_t>& ranks, std::size_t count) {
  std::vector<double> by_rank(count);
  const auto tables = dlrm.all_tables();
  for (std::size_t table = 0; table < tables.size(); ++table) {
    const double bytes = bytes_of(tables[table], dlrm);
    if (ranks[table] >= 0) {
      by_rank.at(static_cast<std::size_t>(ranks[table])) += bytes;
    } else {
      for (double& of_rank : by_rank) of_rank += bytes / static_cast<double>(count);
    }
  }
  return std::ranges::max(by_rank);
}

}  // namespace

EmbeddingPlan plan_of_tables(const ResolvedScenario& resolved) {
  return embedding_plan(*resolved.scenario.workload->model->dlrm, resolved.scenario.parallelism.embedding,
                        usable_memory(resolved));
}

void add_tables(const ResolvedScenario& before, const ResolvedScenario& after, const TransitionSpec& spec,
                TransitionWork& work) {
  const DlrmSpec &old_model = *before.scenario.workload->model->dlrm,
                 &new_model = *after.scenario.workload->model->dlrm;
  const auto old_tables = old_model.all_tables(), new_tables = new_model.all_tables();
  const std::size_t count = std::max(old_tables.size(), new_tables.size());
  const auto old_ranks = ranks_of_tables(plan_of_tables(before), count);
  const auto new_ranks = ranks_of_tables(plan_of_tables(after), count);
  std::vector<TableWork> by_rank(after.job.ranks.size());
  for (std::size_t table = 0; table < count; ++table) {
    const double old_bytes = table < old_tables.size() ? bytes_of(old_tables[table], old_model) : 0;
    const double new_bytes = table < new_tables.size() ? bytes_of(new_tables[table], new_model) : 0;
    const std::int64_t from = old_ranks[table], to = new_ranks[table];
    const std::int64_t home = from >= 0 ? from : to;  // -1: all have a part
    const TableWork of_table = work_of(old_bytes, new_bytes, spec.score);
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      const double part = home < 0 ? 1 / static_cast<double>(by_rank.size()) : 0;
      const double share = home == static_cast<std::int64_t>(rank) ? 1 : part;
      by_rank[rank].scored += share * of_table.scored;
      by_rank[rank].gathered += share * of_table.gathered;
      by_rank[rank].filled += share * of_table.filled;
    }
    if (from >= 0 && to >= 0 && from != to) {
      work.moved.push_back({table, from, to, std::min(old_bytes, new_bytes)});
    }
  }
  if (std::ranges::any_of(by_rank, [](const TableWork& of_rank) { return of_rank.moved() > 0; })) {
    work.tables = std::move(by_rank);
  }
  if (spec.checkpoint.bandwidth && !work.is_nothing()) {
    work.written += fullest_tables(old_model, old_ranks, after.job.ranks.size());
    work.read += fullest_tables(new_model, new_ranks, after.job.ranks.size());
  }
}

}  // namespace lockstep
