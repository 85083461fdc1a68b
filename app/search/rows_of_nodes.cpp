#include "app/search/rows_of_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "search/sharding/judge.hpp"
#include "search/sharding/local_search.hpp"
#include "search/sharding/table_wise.hpp"

namespace lockstep {
namespace {

using RanksOfNode = std::vector<std::vector<std::uint32_t>>;

bool can_exchange(const RanksOfNode& nodes) {
  return nodes.size() > 1 && nodes.front().size() > 1 &&
         std::ranges::all_of(nodes, [&](const auto& ranks) { return ranks.size() == nodes.front().size(); });
}

/// Tables that cost most alone, the most expensive first.
std::vector<std::int64_t> most_expensive(const ShardingProblem& problem, std::size_t count) {
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{problem.task(), costs};
  std::vector<std::int64_t> order(problem.task().tables.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::int64_t table) {
    const auto number = static_cast<std::uint32_t>(table);
    return judge.alone(number, problem.task().tables[number].shape.dimension);
  });
  order.resize(count);
  return order;
}

/// What one GPU of each node would hold: its part of the rows, and of the look-ups.
sharding::Task task_of_nodes(const ShardingProblem& problem, const std::vector<std::int64_t>& tables,
                             const RanksOfNode& nodes) {
  const auto parts = static_cast<std::int64_t>(nodes.front().size());
  sharding::Task task = problem.task();
  task.tables.clear();
  for (const std::int64_t number : tables) {
    sharding::Table table = problem.task().tables[static_cast<std::size_t>(number)];
    table.shape.rows = (table.shape.rows + parts - 1) / parts;
    table.shape.pooling_factor /= static_cast<double>(parts);
    task.tables.push_back(table);
  }
  task.capacity.clear();
  for (const auto& ranks : nodes) {
    Bytes least = problem.task().capacity[ranks.front()];
    for (const std::uint32_t rank : ranks) {
      least = std::min(least, problem.task().capacity[rank]);
    }
    task.capacity.push_back(least);
  }
  return task;
}

std::vector<TableShardingSpec> entries_of(const sharding::Plan& plan, const std::vector<std::int64_t>& tables,
                                          std::size_t nodes) {
  std::vector<TableShardingSpec> of_node(nodes);
  for (const sharding::Piece& piece : plan.pieces) {
    of_node[piece.device].tables.push_back(tables[piece.table]);
  }
  std::vector<TableShardingSpec> entries;
  for (std::size_t node = 0; node < nodes; ++node) {
    if (!of_node[node].tables.empty()) {
      std::ranges::sort(of_node[node].tables);
      of_node[node].sharding = TableSharding::TableRowWise;
      of_node[node].node = static_cast<std::int64_t>(node);
      entries.push_back(std::move(of_node[node]));
    }
  }
  return entries;
}

}  // namespace

std::optional<std::vector<TableShardingSpec>> rows_of_nodes(const ShardingProblem& problem,
                                                            std::size_t count) {
  const RanksOfNode nodes = problem.ranks_of_node();
  if (!can_exchange(nodes) || count == 0) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> tables = most_expensive(problem, count);
  const sharding::Task task = task_of_nodes(problem, tables, nodes);
  const Exchanges exchanges = problem.exchanges_of_nodes();
  const sharding::ModelCosts costs = problem.costs(1, exchanges);
  sharding::Judge judge{task, costs};
  auto plan = sharding::neuroshard_table_wise(judge, {});
  if (!plan) {
    return std::nullopt;
  }
  sharding::SearchOptions options;
  options.may_cut = false;
  options.effort = 5'000;
  return entries_of(sharding::improved(judge, *std::move(plan), options), tables, nodes.size());
}

}  // namespace lockstep
