#include "app/search/divisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

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

/// Those first whose copies cost least for what they save: a copy is filled, all-reduced and updated row by
/// row, its look-ups and pooled rows stay where the samples are.
std::vector<std::int64_t> fewest_rows_of_lookup_first(const Task& task) {
  std::vector<std::int64_t> order(task.tables.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::less{}, [&](std::int64_t table) {
    const auto number = static_cast<std::size_t>(table);
    return static_cast<double>(task.tables[number].shape.rows) / task.indices_of(number);
  });
  return order;
}

/// Their gradients are all-reduced with the dense ones.
void add_copied(const Task& task, std::vector<Division>& divisions) {
  constexpr std::size_t kSteps = 8;
  constexpr Bytes kMost{2e9};  // an all-reduce of more takes longer than any exchange
  TableShardingSpec how;
  how.sharding = TableSharding::DataParallel;
  const std::vector<std::int64_t> order = fewest_rows_of_lookup_first(task);
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
  const std::set<std::size_t> counts{2, 4, tables / 8};
  for (const std::size_t count : counts) {
    if (count >= tables) {
      continue;
    }
    if (auto entries = rows_of_nodes(problem, count)) {
      divisions.push_back(without(task, fmt::format("{} table-row-wise", count), *std::move(entries)));
    }
  }
}

/// Memory for tables that a spread entry takes on @p device.
Bytes taken(const ShardingProblem& problem, const TableShardingSpec& entry, std::uint32_t device) {
  const Task& task = problem.task();
  const double kept = entry.kernel == TableKernel::UvmCaching ? TableShardingSpec::kCacheLoadFactor : 1.0;
  std::size_t parts = task.devices();
  if (entry.node) {
    const std::vector<std::uint32_t> ranks = problem.ranks_of_node()[static_cast<std::size_t>(*entry.node)];
    parts = ranks.size();
    if (std::ranges::find(ranks, device) == ranks.end()) {
      return Bytes{0};
    }
  }
  Bytes size;
  for (const std::int64_t number : entry.tables) {
    const auto table = static_cast<std::size_t>(number);
    const EmbeddingTable& shape = task.tables[table].shape;
    const auto rows = static_cast<std::size_t>(shape.rows);
    const std::size_t rows_of_part = (rows + parts - 1) / parts;
    const Bytes row = static_cast<double>(shape.dimension) * task.element;
    size += entry.sharding == TableSharding::DataParallel
                ? 2.0 * static_cast<double>(rows) * row  // its gradient too
                : kept * static_cast<double>(rows_of_part) * row;
  }
  return size;
}

}  // namespace

Division everything(const Task& task) {
  return without(task, "", {});
}

std::vector<Division> divisions(const ShardingProblem& problem) {
  std::vector<Division> divisions;
  if (!problem.task().may_cut) {
    return divisions;
  }
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
