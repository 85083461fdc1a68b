#include "search/embedding/rows_of_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "search/sharding/greedy.hpp"
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

}  // namespace

bool has_even_nodes(const ShardingProblem& problem) {
  return can_exchange(problem.ranks_of_node());
}

sharding::Task task_of_nodes(const ShardingProblem& problem, const std::vector<std::int64_t>& tables) {
  const RanksOfNode nodes = problem.ranks_of_node();
  const auto parts = static_cast<std::int64_t>(nodes.front().size());
  sharding::Task task = problem.task();
  task.tables.clear();
  for (const std::int64_t number : tables) {
    task.tables.push_back(sharding::part_by_rows(problem.task().tables[static_cast<std::size_t>(number)],
                                                 parts * std::ranges::count(tables, number)));
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

std::vector<TableShardingSpec> rows_by_nodes(const sharding::Plan& plan,
                                             const std::vector<std::int64_t>& tables) {
  std::map<std::int64_t, std::set<std::int64_t>> nodes_of;  // by table
  for (const sharding::Piece& piece : plan.pieces) {
    nodes_of[tables[piece.table]].insert(std::int64_t{piece.device});
  }
  std::map<std::set<std::int64_t>, TableShardingSpec> entries;  // tables of equal nodes together
  for (const auto& [table, nodes] : nodes_of) {
    TableShardingSpec& entry = entries[nodes];
    entry.sharding = TableSharding::TableRowWise;
    entry.tables.push_back(table);
    if (nodes.size() == 1) {
      entry.node = *nodes.begin();
    } else {
      entry.nodes.assign(nodes.begin(), nodes.end());
    }
  }
  std::vector<TableShardingSpec> all;
  for (auto& [nodes, entry] : entries) {
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<std::int64_t> most_expensive(const ShardingProblem& problem) {
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{problem.task(), costs};
  std::vector<std::int64_t> order(problem.task().tables.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::int64_t table) {
    const auto number = static_cast<std::uint32_t>(table);
    return judge.alone(number, problem.task().tables[number].shape.dimension);
  });
  return order;
}

std::optional<std::vector<TableShardingSpec>> rows_of_nodes(const ShardingProblem& problem,
                                                            const std::vector<std::int64_t>& tables) {
  if (!has_even_nodes(problem) || tables.empty()) {
    return std::nullopt;
  }
  const sharding::Task task = task_of_nodes(problem, tables);
  const Exchanges exchanges = problem.exchanges_of_nodes();
  const sharding::ModelCosts costs = problem.costs_of_nodes(exchanges);
  sharding::Judge judge{task, costs};
  auto plan = sharding::neuroshard_table_wise(judge, {});
  if (!plan) {  // few tables, of which a node with one is wider than the grid search allows
    plan = sharding::size_greedy(judge, {});
  }
  if (!plan) {
    return std::nullopt;
  }
  sharding::SearchOptions options;
  options.may_cut = false;
  options.effort = 5'000;
  return rows_by_nodes(sharding::improved(judge, *std::move(plan), options), tables);
}

}  // namespace lockstep
