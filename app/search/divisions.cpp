#include "app/search/divisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "app/search/rows_of_nodes.hpp"

namespace lockstep {
namespace {

using sharding::Task;

Division without(const Task& task, std::string name, std::vector<TableShardingSpec> spread) {
  Division division{std::move(name), {std::move(spread)}, {}};
  for (std::int64_t table = 0; table < static_cast<std::int64_t>(task.tables.size()); ++table) {
    const bool is_spread = std::ranges::any_of(division.spread.tables, [&](const TableShardingSpec& entry) {
      return std::ranges::find(entry.tables, table) != entry.tables.end();
    });
    if (!is_spread) {
      division.placed.push_back(table);
    }
  }
  return division;
}

Division without_first(const Task& task, std::string name, const std::vector<std::int64_t>& order,
                       std::size_t count, TableShardingSpec how) {
  how.tables.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  return without(task, std::move(name), {std::move(how)});
}

std::vector<std::int64_t> largest_first(const Task& task) {
  std::vector<std::int64_t> order(task.tables.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::int64_t table) {
    const auto number = static_cast<std::size_t>(table);
    return task.size_of(number, task.tables[number].shape.dimension);
  });
  return order;
}

void add_by_rows(const Task& task, std::vector<Division>& divisions) {
  TableShardingSpec how;
  how.sharding = TableSharding::RowWise;
  const std::vector<std::int64_t> order = largest_first(task);
  for (const std::size_t count : {1, 2, 4}) {
    if (count < order.size()) {
      divisions.push_back(without_first(task, fmt::format("{} row-wise", count), order, count, how));
    }
  }
}

/// Their gradients are all-reduced with the dense ones.
void add_copied(const Task& task, std::vector<Division>& divisions) {
  constexpr std::size_t kSteps = 8;
  constexpr Bytes kMost{2e9};  // an all-reduce of more takes longer than any exchange
  TableShardingSpec how;
  how.sharding = TableSharding::DataParallel;
  std::vector<std::int64_t> order = largest_first(task);
  std::ranges::reverse(order);
  Bytes copied;
  for (std::size_t count = 1; count < order.size(); ++count) {
    const auto table = static_cast<std::size_t>(order[count - 1]);
    copied += task.size_of(table, task.tables[table].shape.dimension);
    const bool is_a_step = count * kSteps / order.size() != (count - 1) * kSteps / order.size();
    if (copied <= kMost && is_a_step) {
      divisions.push_back(without_first(task, fmt::format("{} data-parallel", count), order, count, how));
    }
  }
}

void add_by_rows_of_nodes(const ShardingProblem& problem, std::vector<Division>& divisions) {
  const Task& task = problem.task();
  const std::size_t tables = task.tables.size();
  for (const std::size_t count : {tables, tables / 2}) {
    if (auto entries = rows_of_nodes(problem, count)) {
      divisions.push_back(without(task, fmt::format("{} table-row-wise", count), *std::move(entries)));
    }
  }
}

/// Memory for tables that a spread entry takes on @p device.
Bytes taken(const ShardingProblem& problem, const TableShardingSpec& entry, std::uint32_t device) {
  const Task& task = problem.task();
  Bytes size;
  for (const std::int64_t number : entry.tables) {
    const auto table = static_cast<std::size_t>(number);
    size += task.size_of(table, task.tables[table].shape.dimension);
  }
  if (entry.sharding == TableSharding::DataParallel) {
    return 2.0 * size;  // its gradient too
  }
  const double kept = entry.kernel == TableKernel::UvmCaching ? TableShardingSpec::kCacheLoadFactor : 1.0;
  if (!entry.node) {
    return kept / static_cast<double>(task.devices()) * size;
  }
  const std::vector<std::uint32_t> ranks = problem.ranks_of_node()[static_cast<std::size_t>(*entry.node)];
  const bool holds_some = std::ranges::find(ranks, device) != ranks.end();
  return holds_some ? kept / static_cast<double>(ranks.size()) * size : Bytes{0};
}

}  // namespace

Division everything(const Task& task) {
  return without(task, "", {});
}

std::vector<Division> divisions(const ShardingProblem& problem) {
  std::vector<Division> divisions;
  add_by_rows(problem.task(), divisions);
  add_copied(problem.task(), divisions);
  add_by_rows_of_nodes(problem, divisions);
  return divisions;
}

Division into_host_memory(const Task& task, std::size_t count) {
  TableShardingSpec how;
  how.sharding = TableSharding::RowWise;
  how.kernel = TableKernel::UvmCaching;
  return without_first(task, fmt::format("{} cached in host memory", count), largest_first(task), count, how);
}

Task placed_task(const ShardingProblem& problem, const Division& division) {
  const Task& task = problem.task();
  Task placed = task;
  placed.tables.clear();
  for (const std::int64_t table : division.placed) {
    placed.tables.push_back(task.tables[static_cast<std::size_t>(table)]);
  }
  for (std::uint32_t device = 0; device < task.devices(); ++device) {
    for (const TableShardingSpec& entry : division.spread.tables) {
      placed.capacity[device] -= taken(problem, entry, device);
    }
  }
  return placed;
}

}  // namespace lockstep
