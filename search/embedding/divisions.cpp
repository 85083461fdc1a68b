#include "search/embedding/divisions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "search/embedding/host_tables.hpp"
#include "search/embedding/rows_of_nodes.hpp"
#include "search/sharding/judge.hpp"

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

/// Where the largest tables are not those that cost most, as add_copied_and_by_rows() has them.
void add_largest_by_rows(const ShardingProblem& problem, std::vector<Division>& divisions) {
  const Task& task = problem.task();
  TableShardingSpec how;
  how.sharding = TableSharding::RowWise;
  const std::vector<std::int64_t> order = largest_first(task), most = most_expensive(problem);
  for (const std::size_t count : {1, 2, 4}) {
    if (count < order.size() &&
        !std::is_permutation(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                             most.begin())) {
      divisions.push_back(without_first(task, fmt::format("{} largest row-wise", count), order, count, how));
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

Bytes size_of(const Task& task, std::span<const std::int64_t> tables) {
  Bytes size;
  for (const std::int64_t table : tables) {
    const auto number = static_cast<std::size_t>(table);
    size += task.size_of(number, task.tables[number].shape.dimension);
  }
  return size;
}

/// Of the tables in @p order, in eight steps, as far as their gradients are no more than can be all-reduced.
std::vector<std::size_t> numbers_to_copy(const Task& task, const std::vector<std::int64_t>& order) {
  constexpr std::size_t kSteps = 8;
  std::vector<std::size_t> numbers;
  for (std::size_t count = 1; count < order.size(); ++count) {
    const bool is_a_step = count * kSteps / order.size() != (count - 1) * kSteps / order.size();
    if (is_a_step && size_of(task, std::span{order}.first(count)) <= kMostCopies) {
      numbers.push_back(count);
    }
  }
  return numbers;
}

TableShardingSpec spread(std::vector<std::int64_t> tables, TableSharding sharding) {
  TableShardingSpec entry;
  entry.tables = std::move(tables);
  entry.sharding = sharding;
  return entry;
}

/// On every GPU, where their gradients are all-reduced with the dense ones; and of the others those that cost
/// most cut by rows, so that none is too much for a GPU.
void add_copied_and_by_rows(const ShardingProblem& problem, std::vector<Division>& divisions) {
  const Task& task = problem.task();
  const std::vector<std::int64_t> order = fewest_rows_of_lookup_first(task), most = most_expensive(problem);
  std::vector<std::size_t> numbers = numbers_to_copy(task, order);
  numbers.insert(numbers.begin(), 0);
  for (const std::size_t copied : numbers) {
    const std::span<const std::int64_t> copies = std::span{order}.first(copied);
    std::vector<std::int64_t> others = most;
    std::erase_if(others,
                  [&](std::int64_t table) { return std::ranges::find(copies, table) != copies.end(); });
    for (const std::size_t cut : {0, 1, 2, 4}) {
      std::vector<TableShardingSpec> entries;
      std::vector<std::string> name;
      if (copied > 0) {
        entries.push_back(spread({copies.begin(), copies.end()}, TableSharding::DataParallel));
        name.push_back(fmt::format("{} data-parallel", copied));
      }
      if (cut > 0) {
        const auto end = others.begin() + static_cast<std::ptrdiff_t>(std::min(cut, others.size()));
        entries.push_back(spread({others.begin(), end}, TableSharding::RowWise));
        name.push_back(fmt::format("{} row-wise", cut));
      }
      if (cut < others.size() && !entries.empty()) {
        divisions.push_back(without(task, fmt::format("{}", fmt::join(name, ", ")), std::move(entries)));
      }
    }
  }
}

void add_by_rows_of_nodes(const ShardingProblem& problem, std::vector<Division>& divisions) {
  const Task& task = problem.task();
  const std::size_t tables = task.tables.size();
  const std::set<std::size_t> counts{2, 4, 8, tables / 8, tables / 4, tables / 2};
  for (const std::size_t count : counts) {
    if (count >= tables) {
      continue;
    }
    std::vector<std::int64_t> most = most_expensive(problem);
    most.resize(count);
    if (auto entries = rows_of_nodes(problem, most)) {
      divisions.push_back(without(task, fmt::format("{} table-row-wise", count), *std::move(entries)));
    }
  }
}

/// Memory for tables that a spread entry takes on @p device.
Bytes taken(const ShardingProblem& problem, const TableShardingSpec& entry, std::uint32_t device) {
  const Task& task = problem.task();
  const ShardStorage storage = problem.storage();
  auto parts = static_cast<std::int64_t>(task.devices());
  if (entry.sharding == TableSharding::TableRowWise) {
    const auto nodes = entry.node ? std::vector{*entry.node} : entry.nodes;
    std::vector<std::uint32_t> ranks;
    for (const std::int64_t node : nodes) {
      const auto of_node = problem.ranks_of_node()[static_cast<std::size_t>(node)];
      ranks.insert(ranks.end(), of_node.begin(), of_node.end());
    }
    parts = static_cast<std::int64_t>(ranks.size());
    if (std::ranges::find(ranks, device) == ranks.end()) {
      return Bytes{0};
    }
  }
  Bytes size;
  for (const std::int64_t number : entry.tables) {
    EmbeddingTable part = located(task.tables[static_cast<std::size_t>(number)].shape, entry);
    if (entry.sharding == TableSharding::DataParallel) {
      size += on_gpu(part, storage.replicated);
    } else {
      part.rows = (part.rows + parts - 1) / parts;
      size += on_gpu(part, storage.sharded);
    }
  }
  return size;
}

/// @p tables, each as often as it is cut by rows for none of the parts to cost more than @p share of what a
/// device has to do on average, or to take more than half of its memory.
std::vector<std::int64_t> parts_by_rows(const ShardingProblem& problem,
                                        const std::vector<std::int64_t>& tables, double share,
                                        std::size_t devices) {
  const sharding::ModelCosts costs = problem.costs(1);
  const Task& task = problem.task();
  sharding::Judge judge{task, costs};
  const auto cost = [&](std::int64_t table) {
    const auto number = static_cast<std::uint32_t>(table);
    return judge.alone(number, task.tables[number].shape.dimension);
  };
  Seconds all;
  for (const std::int64_t table : tables) {
    all += cost(table);
  }
  const Seconds most = share * all / static_cast<double>(devices);
  const double gpus = static_cast<double>(task.devices()) / static_cast<double>(devices);
  const Bytes room = *std::ranges::min_element(task.capacity) * (gpus / 2);
  std::vector<std::int64_t> parts;
  for (const std::int64_t table : tables) {
    const auto number = static_cast<std::size_t>(table);
    const Bytes size = task.size_of(number, task.tables[number].shape.dimension);
    const double wanted = std::ceil(std::max(cost(table) / most, size / room));
    parts.insert(parts.end(), static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(devices))),
                 table);
  }
  return parts;
}

/// Of what is not @p copied, tables that cost most cut by rows of some GPUs, and placed piece by piece; on
/// several nodes also all by rows of some nodes, whose exchange is hierarchical.
void add_rows_beside(const std::vector<std::int64_t>& copied, const ShardingProblem& problem,
                     std::vector<Division>& divisions) {
  std::vector<std::int64_t> others = most_expensive(problem);
  std::erase_if(others, [&](std::int64_t table) { return std::ranges::find(copied, table) != copied.end(); });
  std::vector<TableShardingSpec> spread;
  if (!copied.empty()) {
    TableShardingSpec& entry = spread.emplace_back();
    entry.tables = copied;
    entry.sharding = TableSharding::DataParallel;
  }
  const std::string copies = copied.empty() ? "" : fmt::format("{} data-parallel, ", copied.size());
  for (const double share : {2.0, 1.0, 0.5}) {
    const auto parts = parts_by_rows(problem, others, share, problem.task().devices());
    divisions.push_back(
        {fmt::format("{}{} in {} pieces", copies, others.size(), parts.size()), {spread}, parts});
  }
  const std::size_t nodes = problem.ranks_of_node().size();
  for (const double share : {1.0, 0.5, 0.1}) {
    const auto parts = parts_by_rows(problem, others, share, nodes);
    if (auto rows = rows_of_nodes(problem, parts)) {
      rows->insert(rows->end(), spread.begin(), spread.end());
      divisions.push_back(
          {fmt::format("{}{} table-row-wise in {} pieces", copies, others.size(), parts.size()),
           {*std::move(rows)},
           {}});
    }
  }
}

void add_of_hugectr(const ShardingProblem& problem, std::vector<Division>& divisions) {
  const std::vector<std::int64_t> order = fewest_rows_of_lookup_first(problem.task());
  add_rows_beside({}, problem, divisions);
  for (const std::size_t count : numbers_to_copy(problem.task(), order)) {
    add_rows_beside({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)}, problem, divisions);
  }
}

Task placed_on_nodes(const ShardingProblem& problem, const Division& division) {
  Task placed = task_of_nodes(problem, division.placed);
  const auto nodes = problem.ranks_of_node();
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (const TableShardingSpec& entry : division.spread.tables) {
      placed.capacity[node] -= taken(problem, entry, nodes[node].front());
    }
  }
  return placed;
}

}  // namespace

bool is_hugectr(const ShardingProblem& problem) {
  return problem.resolved().scenario.workload->model->dlrm->implementation == DlrmImplementation::HugeCtr;
}

Division everything(const Task& task) {
  return without(task, "", {});
}

std::vector<Division> divisions(const ShardingProblem& problem) {
  std::vector<Division> divisions;
  if (is_hugectr(problem)) {
    add_of_hugectr(problem, divisions);
  }
  if (!problem.task().may_cut) {
    return divisions;
  }
  add_copied_and_by_rows(problem, divisions);
  add_largest_by_rows(problem, divisions);
  add_by_rows_of_nodes(problem, divisions);
  return divisions;
}

std::vector<Division> divisions_of_all(const ShardingProblem& problem) {
  const Task& task = problem.task();
  if (!task.may_cut) {
    return {};
  }
  const std::vector<std::int64_t> order = fewest_rows_of_lookup_first(task);
  std::vector<Division> divisions{all_by_rows(task)};
  const auto add_rest_by_rows_of_nodes = [&](std::size_t copied) {
    const auto first_by_rows = order.begin() + static_cast<std::ptrdiff_t>(copied);
    auto entries = rows_of_nodes(problem, {first_by_rows, order.end()});
    if (!entries) {
      return;
    }
    std::string name = fmt::format("{} table-row-wise", order.size() - copied);
    if (copied > 0) {
      entries->push_back(spread({order.begin(), first_by_rows}, TableSharding::DataParallel));
      name = fmt::format("{} data-parallel, {}", copied, name);
    }
    divisions.push_back(without(task, copied > 0 ? name : "all table-row-wise", *std::move(entries)));
  };
  add_rest_by_rows_of_nodes(0);
  for (const std::size_t copied : numbers_to_copy(task, order)) {
    add_rest_by_rows_of_nodes(copied);
    const auto first_by_rows = order.begin() + static_cast<std::ptrdiff_t>(copied);
    divisions.push_back(without(task,
                                fmt::format("{} data-parallel, {} row-wise", copied, order.size() - copied),
                                {spread({order.begin(), first_by_rows}, TableSharding::DataParallel),
                                 spread({first_by_rows, order.end()}, TableSharding::RowWise)}));
  }
  if (size_of(task, order) <= kMostCopies) {
    divisions.push_back(without(task, "all data-parallel", {spread(order, TableSharding::DataParallel)}));
  }
  return divisions;
}

Division all_by_rows(const Task& task) {
  TableShardingSpec how;
  how.sharding = TableSharding::RowWise;
  return without_first(task, "all row-wise", largest_first(task), task.tables.size(), how);
}

TableShardingSpec rows_in_host_memory(double cached) {
  TableShardingSpec how;
  how.sharding = TableSharding::RowWise;
  how.kernel = cached > 0 ? TableKernel::UvmCaching : TableKernel::Uvm;
  if (cached > 0 && cached != TableShardingSpec::kCacheLoadFactor) {
    how.cache_load_factor = cached;
  }
  return how;
}

std::string in_host_memory(const TableShardingSpec& how) {
  if (how.kernel == TableKernel::Uvm) {
    return "in host memory";
  }
  const double cached = how.cache_load_factor.value_or(TableShardingSpec::kCacheLoadFactor);
  return "cached in host memory" + (cached == TableShardingSpec::kCacheLoadFactor
                                        ? ""
                                        : fmt::format(", {:.0f} % of their rows on GPUs", 100 * cached));
}

Division into_host_memory(const ShardingProblem& problem, std::span<const std::int64_t> tables,
                          TableShardingSpec how, std::string_view which) {
  std::string name =
      fmt::format("{}{}{} {}", tables.size(), which.empty() ? "" : " ", which, in_host_memory(how));
  how.tables.assign(tables.begin(), tables.end());
  return without(problem.task(), std::move(name), {std::move(how)});
}

Task placed_task(const ShardingProblem& problem, const Division& division) {
  const Task& task = problem.task();
  if (division.by_nodes) {
    return placed_on_nodes(problem, division);
  }
  Task placed = task;
  placed.tables.clear();
  for (const std::int64_t table : division.placed) {
    placed.tables.push_back(sharding::part_by_rows(task.tables[static_cast<std::size_t>(table)],
                                                   std::ranges::count(division.placed, table)));
  }
  for (std::uint32_t device = 0; device < task.devices(); ++device) {
    placed.capacity[device] = (1 - division.spare) * placed.capacity[device];
    for (const TableShardingSpec& entry : division.spread.tables) {
      placed.capacity[device] -= taken(problem, entry, device);
    }
  }
  return placed;
}

EmbeddingPlan plan_of(const sharding::Plan& pieces, const Division& division) {
  if (!division.by_nodes) {
    return sharding::embedding_plan_of(pieces, division.placed, division.spread, division.whole);
  }
  EmbeddingPlan plan;
  plan.tables = rows_by_nodes(pieces, division.placed);
  plan.tables.insert(plan.tables.end(), division.spread.tables.begin(), division.spread.tables.end());
  return plan;
}

}  // namespace lockstep
