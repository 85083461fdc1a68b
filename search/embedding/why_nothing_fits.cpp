#include "search/embedding/why_nothing_fits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "scenario/memory_demand.hpp"
#include "search/embedding/host_tables.hpp"
#include "search/embedding/left_out_plans.hpp"
#include "search/sharding/greedy.hpp"

namespace lockstep {
namespace {

using sharding::Task;

/// How full a plan fills the fullest GPU and host, with where and what.
struct Need {
  double share = 0;
  std::string text;
};

/// `communication 61.4 GB, activations 40.1 GB, ...`: the largest uses.
std::string uses_of(const MemoryBreakdown& memory) {
  constexpr std::size_t kMost = 4;
  std::vector<std::pair<double, std::string_view>> parts;
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    if (memory.bytes[use] > 0) {
      parts.emplace_back(memory.bytes[use], name_of(static_cast<MemoryUse>(use)));
    }
  }
  std::ranges::stable_sort(parts, std::greater{}, &std::pair<double, std::string_view>::first);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, parts.size()); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", parts[i].second, Bytes{parts[i].first});
  }
  return text;
}

/// Nothing where the tables alone are too much for what GPUs have for them.
std::optional<Need> need_of(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  Need need;
  try {
    const ResolvedScenario resolved = problem.under(plan);
    if (const auto gpu = fullest_rank(resolved)) {
      need = {gpu->share(), fmt::format("{} of the {} of rank {}'s GPU ({})", gpu->memory.total(),
                                        gpu->capacity, gpu->rank, uses_of(gpu->memory))};
    }
    const auto host = fullest_host(resolved);
    if (host && host->capacity > Bytes{0} && host->share() > std::max(1.0, need.share)) {
      need = {host->share(),
              fmt::format("{} of the {} of {}", host->memory.total(), host->capacity, host_name(*host))};
    }
  } catch (const InputError&) {
    return std::nullopt;
  }
  return need;
}

/// What the step of the leanest plan needs; "" where none was made.
std::string leanest(const ShardingProblem& problem, std::span<const Candidate> made) {
  const Candidate* best = nullptr;
  std::optional<Need> least;
  for (const Candidate& candidate : made) {
    const auto need = candidate.plan.tables.empty() ? std::nullopt : need_of(problem, candidate.plan);
    if (need && (!least || need->share < least->share)) {
      best = &candidate;
      least = need;
    }
  }
  return !least ? ""
                : fmt::format(
                      "tables can be placed, but every step that was looked at needs more memory than there "
                      "is, the leanest ({}) {}; a smaller global_batch or more GPUs need less",
                      best->name, least->text);
}

/// What does not go into host memory, of which @p in_hosts fill all there is.
std::string too_much_for_hosts(const ShardingProblem& problem, const std::vector<std::int64_t>& in_hosts) {
  const Task& task = problem.task();
  Bytes inside, outside;
  for (std::int64_t table = 0; table < static_cast<std::int64_t>(task.tables.size()); ++table) {
    const bool is_inside = std::ranges::find(in_hosts, table) != in_hosts.end();
    (is_inside ? inside : outside) += size_in_host_memory(problem, table);
  }
  const std::size_t others = task.tables.size() - in_hosts.size();
  const Bytes room = host_memory(problem);
  return in_hosts.empty()
             ? fmt::format("host memory, {}, has room for no table", room)
             : fmt::format("host memory, {}, has room for {} of the {} tables ({}), the other{} {}", room,
                           in_hosts.size(), task.tables.size(), inside,
                           others == 1 ? " takes" : fmt::format(" {} take", others), outside);
}

/// Why host memory is no way out.
std::string not_in_host_memory(const ShardingProblem& problem) {
  if (const std::string why_not = why_not_in_host_memory(problem); !why_not.empty()) {
    return "it cannot be in host memory: " + why_not;
  }
  const std::vector<std::int64_t> in_hosts = tables_for_hosts(problem);
  if (in_hosts.size() < problem.task().tables.size()) {
    return too_much_for_hosts(problem, in_hosts);
  }
  constexpr double kSmallestCache = 0.01;
  const auto need =
      need_of(problem, plan_of({}, into_host_memory(problem, in_hosts, rows_in_host_memory(kSmallestCache))));
  return need ? fmt::format("all tables in host memory, 1 % of their rows cached, need {}", need->text)
              : "in host memory, 1 % of the rows cached, what GPUs keep of each row is too much for them";
}

/// What a GPU would have of a table that is cut among all of them.
Bytes by_rows(const Task& task, std::size_t table) {
  const auto devices = static_cast<std::int64_t>(task.devices());
  const EmbeddingTable& shape = task.tables[table].shape;
  const std::int64_t rows = (shape.rows + devices - 1) / devices;
  return task.storage().of(static_cast<double>(rows), static_cast<double>(shape.dimension));
}

/// The first table that fits nowhere; "" where there is none.
std::string widest_table(const ShardingProblem& problem) {
  const Task& task = problem.task();
  const Bytes room = *std::ranges::max_element(task.capacity);
  const bool has_rows = task.may_cut || is_hugectr(problem);
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    const EmbeddingTable& shape = task.tables[table].shape;
    std::int64_t columns = shape.dimension;
    while (task.can_halve(columns)) {
      columns /= 2;
    }
    const Bytes least = task.size_of(table, columns);
    if (least <= room || (has_rows && by_rows(task, table) <= room)) {
      continue;
    }
    std::string cut = task.may_cut ? fmt::format(", not even cut to {} columns ({})", columns, least) : "";
    if (has_rows) {
      cut += fmt::format("{} by the rows of all GPUs ({} each)", cut.empty() ? ", not even" : " or",
                         by_rows(task, table));
    }
    return fmt::format(
        "table {} ({} rows of {} elements, {}) fits on no GPU{}: a GPU has {} for tables; {}{}", table,
        shape.rows, shape.dimension, task.size_of(table, shape.dimension), cut, room,
        has_rows ? "" : "bottom_mlp_placement: first_rank needs it whole; ", not_in_host_memory(problem));
  }
  return "";
}

/// Tables in whole, or nearly whole, pieces do go in with all of a GPU's memory for them.
bool fits_with_all_memory(const ShardingProblem& problem) {
  Task task = problem.task();
  for (Bytes& capacity : task.capacity) {
    capacity = capacity / problem.resolved().scenario.parallelism.embedding.memory_share;
  }
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{task, costs};
  return sharding::size_greedy(judge, {}).has_value();
}

std::string all_tables(const ShardingProblem& problem) {
  const Task& task = problem.task();
  Bytes all, room;
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    all += task.size_of(table, task.tables[table].shape.dimension);
  }
  for (const Bytes capacity : task.capacity) {
    room += capacity;
  }
  const std::size_t places = task.places().size();
  const std::string what = fmt::format("the tables take {}, the {} GPU{} {} for them", all, places,
                                       places == 1 ? " has" : "s have", room);
  if (all <= room) {
    return fmt::format("{}, but in pieces too large to go in{}", what,
                       fits_with_all_memory(problem)
                           ? "; with all of the GPUs' memory for them (memory_share: 1) they do"
                           : "");
  }
  const double gpus = std::ceil(all / room * static_cast<double>(places));
  return fmt::format("{}: at least {:.0f} such GPUs would be needed; {}", what, gpus,
                     not_in_host_memory(problem));
}

}  // namespace

std::string why_nothing_fits(const ShardingProblem& problem, std::span<const Candidate> made) {
  for (const auto& why : {leanest(problem, made), widest_table(problem)}) {
    if (!why.empty()) {
      return why;
    }
  }
  return all_tables(problem);
}

}  // namespace lockstep
