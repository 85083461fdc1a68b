#include "app/search/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <numeric>

#include "search/sharding/local_search.hpp"

namespace lockstep {
namespace {

using sharding::Spread;
using sharding::Task;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The tables that are placed one by one, and those that are not.
struct Division {
  std::string name;  ///< of what is not, "" for nothing
  Spread spread;
  std::vector<std::int64_t> placed;
};

Division without(const Task& task, std::string name, const std::vector<std::int64_t>& tables,
                 const TableShardingSpec& how) {
  Division division{std::move(name), {}, {}};
  for (std::int64_t table = 0; table < static_cast<std::int64_t>(task.tables.size()); ++table) {
    if (std::ranges::find(tables, table) == tables.end()) {
      division.placed.push_back(table);
    }
  }
  if (!tables.empty()) {
    division.spread.tables.push_back(how);
    division.spread.tables.back().tables = tables;
  }
  return division;
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

/// The largest tables cut by rows: 1, 2, 4 of them.
void add_by_rows(const Task& task, std::vector<Division>& divisions) {
  TableShardingSpec how;
  how.sharding = TableSharding::RowWise;
  const std::vector<std::int64_t> order = largest_first(task);
  for (const std::ptrdiff_t count : {1, 2, 4}) {
    if (count < std::ssize(order)) {
      divisions.push_back(
          without(task, fmt::format("{} row-wise", count), {order.begin(), order.begin() + count}, how));
    }
  }
}

/// The smallest tables on every GPU, of eight numbers of them: their gradients are all-reduced with the dense
/// ones.
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
      divisions.push_back(without(task, fmt::format("{} data-parallel", count),
                                  {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)}, how));
    }
  }
}

/// Memory of every device that a spread table takes.
Bytes taken(const Task& task, const Spread& spread) {
  Bytes taken;
  for (const TableShardingSpec& entry : spread.tables) {
    for (const std::int64_t number : entry.tables) {
      const auto table = static_cast<std::size_t>(number);
      const Bytes size = task.size_of(table, task.tables[table].shape.dimension);
      if (entry.sharding == TableSharding::DataParallel) {
        taken += 2.0 * size;  // its gradient too
      } else {
        const double kept =
            entry.kernel == TableKernel::UvmCaching ? TableShardingSpec::kCacheLoadFactor : 1.0;
        taken += kept / static_cast<double>(task.devices()) * size;
      }
    }
  }
  return taken;
}

Task placed_task(const Task& task, const Division& division) {
  Task placed = task;
  placed.tables.clear();
  for (const std::int64_t table : division.placed) {
    placed.tables.push_back(task.tables[static_cast<std::size_t>(table)]);
  }
  for (Bytes& capacity : placed.capacity) {
    capacity -= taken(task, division.spread);
  }
  return placed;
}

std::optional<Candidate> ours(const ShardingProblem& problem, const Division& division, double exposed,
                              const sharding::SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Task task = placed_task(problem.task(), division);
  const sharding::ModelCosts costs = problem.costs(exposed);
  sharding::Judge judge{task, costs};
  const auto plan = sharding::lockstep_search(judge, options);
  if (!plan) {
    return std::nullopt;
  }
  return Candidate{
      fmt::format("lockstep{}{}{}", division.name.empty() ? "" : ", " + division.name,
                  options.may_cut ? "" : ", whole tables",
                  exposed < 1 ? fmt::format(", {:.0f} % of the exchanges hidden", 100 * (1 - exposed)) : ""),
      sharding::embedding_plan_of(*plan, division.placed, division.spread),
      {},
      seconds_since(start)};
}

/// The largest tables in host memory until the rest fits.
std::optional<Division> into_host_memory(const ShardingProblem& problem,
                                         const sharding::SearchOptions& options) {
  TableShardingSpec how;
  how.sharding = TableSharding::RowWise;
  how.kernel = TableKernel::UvmCaching;
  const std::vector<std::int64_t> order = largest_first(problem.task());
  sharding::SearchOptions quick = options;
  quick.effort = 1;
  for (std::size_t count = 1; count < order.size(); ++count) {
    Division division = without(problem.task(), fmt::format("{} cached in host memory", count),
                                {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)}, how);
    if (ours(problem, division, 1, quick)) {
      return division;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Candidate> candidate_by(const sharding::Method& method, const ShardingProblem& problem,
                                      const sharding::SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{problem.task(), costs};
  const auto plan = method.search(judge, options);
  if (!plan) {
    return std::nullopt;
  }
  const Division all = without(problem.task(), "", {}, {});
  return Candidate{std::string{method.name},
                   sharding::embedding_plan_of(*plan, all.placed, all.spread),
                   {},
                   seconds_since(start)};
}

std::vector<Candidate> our_candidates(const ShardingProblem& problem,
                                      const sharding::SearchOptions& options) {
  const Division all = without(problem.task(), "", {}, {});
  std::vector<Candidate> candidates;
  sharding::SearchOptions whole = options;
  whole.may_cut = false;
  const auto add = [&](const Division& division, double exposed) {
    for (const sharding::SearchOptions& how : {options, whole}) {
      if (options.stopped() && !candidates.empty()) {
        return;
      }
      if (auto candidate = ours(problem, division, exposed, how)) {
        candidates.push_back(*std::move(candidate));
      }
    }
  };
  for (const double exposed : {1.0, 0.5, 0.0}) {
    add(all, exposed);
  }
  std::vector<Division> divisions;
  add_by_rows(problem.task(), divisions);
  add_copied(problem.task(), divisions);
  for (const Division& division : divisions) {
    add(division, 1);
  }
  const bool fused =
      problem.setting().scenario.workload->model->dlrm->embedding_kernels == EmbeddingKernels::Fbgemm;
  if (candidates.empty() && fused) {
    if (const auto division = into_host_memory(problem, options)) {
      add(*division, 1);
    }
  }
  return candidates;
}

}  // namespace lockstep
