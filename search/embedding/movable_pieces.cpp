#include "search/embedding/movable_pieces.hpp"

#include <algorithm>

#include "search/embedding/rows_of_nodes.hpp"

namespace lockstep {
namespace {

bool is_on_single_gpus(const ShardingProblem& problem, const TableShardingSpec& entry) {
  const bool by_rows = entry.sharding == TableSharding::RowWise && is_hugectr(problem);
  return entry.kernel == TableKernel::Fused && (by_rows || entry.sharding == TableSharding::TableWise ||
                                                entry.sharding == TableSharding::ColumnWise);
}

/// Rows of whole nodes are moved where nothing is on single GPUs.
bool is_by_nodes(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  return has_even_nodes(problem) && std::ranges::none_of(plan.tables, [&](const TableShardingSpec& entry) {
           return is_on_single_gpus(problem, entry);
         });
}

bool is_on_nodes(const TableShardingSpec& entry) {
  return entry.kernel == TableKernel::Fused && entry.sharding == TableSharding::TableRowWise;
}

/// The entry's nodes, or ranks; of rows that are on all, all.
std::vector<std::int64_t> places_of(const ShardingProblem& problem, const TableShardingSpec& entry) {
  if (entry.sharding == TableSharding::TableRowWise) {
    return entry.node ? std::vector{*entry.node} : entry.nodes;
  }
  std::vector<std::int64_t> ranks = entry.ranks;
  for (std::size_t rank = 0; entry.ranks.empty() && rank < problem.task().devices(); ++rank) {
    ranks.push_back(static_cast<std::int64_t>(rank));
  }
  return ranks;
}

void add_pieces(const ShardingProblem& problem, const TableShardingSpec& entry, Division& division,
                sharding::Plan& plan) {
  const std::vector<std::int64_t> places = places_of(problem, entry);
  const bool by_rows =
      entry.sharding == TableSharding::RowWise || entry.sharding == TableSharding::TableRowWise;
  for (const std::int64_t table : entry.tables) {
    std::int64_t columns = problem.task().tables[static_cast<std::size_t>(table)].shape.dimension;
    if (!by_rows) {
      columns /= static_cast<std::int64_t>(places.size());
      division.placed.push_back(table);
    }
    for (const std::int64_t place : places) {
      if (by_rows) {  // a part of the rows for each
        division.placed.push_back(table);
      }
      plan.pieces.push_back({static_cast<std::uint32_t>(division.placed.size() - 1), columns,
                             static_cast<std::uint32_t>(place)});
    }
  }
}

/// Whole tables are looked up and exchanged by themselves, others in columns. Those in host memory may be by
/// themselves when others are not.
bool has_whole_apart(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  const auto any = [&](TableSharding sharding, std::size_t least) {
    return std::ranges::any_of(plan.tables, [&](const TableShardingSpec& entry) {
      return is_on_single_gpus(problem, entry) && entry.sharding == sharding && entry.ranks.size() >= least;
    });
  };
  return any(TableSharding::TableWise, 1) && any(TableSharding::ColumnWise, 2);
}

}  // namespace

std::pair<Division, sharding::Plan> in_pieces(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  std::pair<Division, sharding::Plan> result;
  result.first.by_nodes = is_by_nodes(problem, plan);
  result.first.whole =
      has_whole_apart(problem, plan) ? sharding::WholeTables::Apart : sharding::WholeTables::WithCutOnes;
  for (const TableShardingSpec& entry : plan.tables) {
    if (result.first.by_nodes ? is_on_nodes(entry) : is_on_single_gpus(problem, entry)) {
      add_pieces(problem, entry, result.first, result.second);
    } else {
      result.first.spread.tables.push_back(entry);
    }
  }
  return result;
}

void make_movable(const ShardingProblem& problem, Candidate& candidate) {
  auto [division, pieces] = in_pieces(problem, candidate.plan);
  if (sharding::is_valid(pieces, placed_task(problem, division))) {
    candidate.division = std::move(division);
    candidate.pieces = std::move(pieces);
  }
}

}  // namespace lockstep
