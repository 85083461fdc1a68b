#include "search/embedding/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include "search/embedding/cache_sizes.hpp"
#include "search/embedding/host_tables.hpp"
#include "search/embedding/left_out_plans.hpp"
#include "search/embedding/movable_pieces.hpp"
#include "search/learned/table_features.hpp"
#include "search/sharding/exact.hpp"
#include "search/sharding/local_search.hpp"
#include "search/sharding/table_wise.hpp"

namespace lockstep {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::optional<Candidate> ours(const ShardingProblem& problem, const Division& division, double exposed,
                              const sharding::SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const sharding::Task task = placed_task(problem, division);
  const sharding::ModelCosts costs = problem.costs(exposed);
  sharding::Judge judge{task, costs};
  const auto plan =
      division.placed.empty() ? std::optional{sharding::Plan{}} : sharding::lockstep_search(judge, options);
  if (!plan) {
    return std::nullopt;
  }
  Candidate candidate{
      fmt::format("lockstep{}{}{}", division.name.empty() ? "" : ", " + division.name,
                  options.may_cut || !problem.task().may_cut ? "" : ", whole tables",
                  exposed < 1 ? fmt::format(", {:.0f} % of the exchanges hidden", 100 * (1 - exposed)) : ""),
      sharding::embedding_plan_of(*plan, division.placed, division.spread),
      {},
      seconds_since(start),
      division,
      *plan};
  candidate.questions = judge.questions();
  if (division.placed.empty()) {
    make_movable(problem, candidate);
  }
  return candidate;
}

/// What is left is placed at once, to see whether it fits.
bool fits(const ShardingProblem& problem, const Division& division, const sharding::SearchOptions& options) {
  sharding::SearchOptions quick = options;
  quick.effort = 1;
  const auto candidate = ours(problem, division, 1, quick);
  return candidate && problem.has_memory_for(candidate->plan);
}

Division with_spare(Division division, double spare) {
  division.spare = spare;
  if (spare > 0) {
    division.name +=
        fmt::format("{}{:.0f} % of the room kept free", division.name.empty() ? "" : ", ", 100 * spare);
  }
  return division;
}

/// The least number of the first tables that hosts have room for, below @p end, in host memory with which all
/// fits: GPUs have less to hold with each.
std::optional<std::size_t> fewest_in_host_memory(const ShardingProblem& problem, std::size_t end,
                                                 const std::function<Division(std::size_t)>& with,
                                                 const sharding::SearchOptions& options) {
  std::size_t too_few = 0, enough = end;
  while (enough - too_few > 1) {
    const std::size_t count = too_few + (enough - too_few) / 2;
    (fits(problem, with(count), options) ? enough : too_few) = count;
  }
  return enough == end ? std::nullopt : std::optional{enough};
}

/// All tables placed, with as little of the room kept free as the rest of the step takes. @return nothing
/// where none fits so
std::optional<Division> least_spare(const ShardingProblem& problem, const sharding::SearchOptions& options) {
  for (const double spare : kSpares) {
    Division division = with_spare(everything(problem.task()), spare);
    if (spare > 0 && fits(problem, division, options)) {
      return division;
    }
  }
  return std::nullopt;
}

/// As few of the first of @p tables as it takes.
void add_in_host_memory(const ShardingProblem& problem, std::span<const std::int64_t> tables,
                        const TableShardingSpec& how, std::string_view which,
                        const sharding::SearchOptions& options, std::vector<Division>& divisions) {
  std::size_t end = tables.size() + 1;
  for (const double spare : kSpares) {
    const auto with = [&](std::size_t count) {
      return with_spare(
          into_host_memory(problem, tables.first(count), how, count < tables.size() ? which : ""), spare);
    };
    if (const auto count = fewest_in_host_memory(problem, end, with, options)) {
      end = *count;  // more room kept free has to spare a table the way
      Division division = with(*count);
      const bool is_known = std::ranges::any_of(divisions, [&](const Division& other) {
        return other.placed == division.placed && other.spare == spare &&
               in_host_memory(other.spread.tables.front()) == in_host_memory(how);
      });
      if (!is_known) {
        divisions.push_back(std::move(division));
      }
    }
  }
}

constexpr double kSmallestCache = 0.01;  // of a table's rows

/// All tables, where hosts have room for them, with caches that leave room for those of with_full_caches().
void add_all_cached(const ShardingProblem& problem, std::vector<Division>& divisions) {
  const std::vector<std::int64_t> tables = tables_for_hosts(problem);
  if (tables.size() == problem.task().tables.size()) {
    Division division = into_host_memory(problem, tables, rows_in_host_memory(kSmallestCache));
    const bool is_known = std::ranges::any_of(divisions, [&](const Division& other) {
      return other.placed.empty() && other.name == division.name;
    });
    if (!is_known) {
      divisions.push_back(std::move(division));
    }
  }
}

/// Plans that fit where the usual ones do not, for the tables take too much room or leave too little: more of
/// it is kept free, or every table cut by rows, or as few as it takes are in host memory, the coldest or the
/// largest, with caches of several sizes or without.
std::vector<Division> last_resorts(const ShardingProblem& problem, const sharding::SearchOptions& options) {
  constexpr std::array kCaches{0.5, TableShardingSpec::kCacheLoadFactor, 0.1, 0.05, 0.02, kSmallestCache,
                               0.0};
  std::vector<Division> divisions;
  for (const double spare : kSpares) {
    divisions.push_back(with_spare(everything(problem.task()), spare));
  }
  if (problem.task().may_cut) {
    divisions.push_back(all_by_rows(problem.task()));
  }
  std::erase_if(divisions, [&](const Division& division) { return !fits(problem, division, options); });
  if (!divisions.empty() || !why_not_in_host_memory(problem).empty()) {
    return divisions;
  }
  for (const double cached : kCaches) {
    const TableShardingSpec how = rows_in_host_memory(cached);
    const std::vector<std::int64_t> largest = tables_for_hosts(problem);
    const std::vector<std::int64_t> coldest = tables_for_hosts(problem, coldest_first(problem, how));
    add_in_host_memory(problem, coldest, how, "coldest", options, divisions);
    if (largest != coldest) {
      add_in_host_memory(problem, largest, how, "largest", options, divisions);
    }
  }
  add_all_cached(problem, divisions);
  return divisions;
}

Candidate candidate_of(const sharding::Method& method, const ShardingProblem& problem,
                       const sharding::Plan& plan) {
  const Division all = everything(problem.task());
  return {.name = std::string{method.name},
          .plan = sharding::embedding_plan_of(plan, all.placed, all.spread),
          .step = {},
          .division = all,
          .pieces = plan};
}

std::optional<sharding::Plan> exact_plan(sharding::Judge& judge, Seconds bound,
                                         const sharding::SearchOptions& options, std::string& remark) {
  sharding::ExactPlacement exact = sharding::exact_placement(judge, options);
  remark = exact.is_proven ? "proven the best of whole tables under the fast models"
                           : fmt::format("not proven: under the fast models {:.1f} % above the bound",
                                         100 * (exact.cost / bound - 1));
  return std::move(exact.plan);
}

}  // namespace

std::optional<Candidate> candidate_by(const sharding::Method& method, const ShardingProblem& problem,
                                      const sharding::SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{problem.task(), costs};
  std::string remark;
  const auto plan = method.name == "exact"
                        ? exact_plan(judge, costs.at_least(problem.task()), options, remark)
                        : method.search(judge, options);
  if (!plan) {
    return std::nullopt;
  }
  Candidate candidate = candidate_of(method, problem, *plan);
  candidate.search_seconds = seconds_since(start);
  candidate.questions = judge.questions();
  candidate.remark = std::move(remark);
  return candidate;
}

std::optional<Candidate> candidate_by_networks(const sharding::Method& method, const ShardingProblem& problem,
                                               const sharding::SearchOptions& options,
                                               const sharding::NetworkCosts& networks) {
  const auto start = std::chrono::steady_clock::now();
  sharding::Task task = problem.task();
  for (sharding::Table& table : task.tables) {
    table.reuse = sharding::learned::reuse_of(table, task.batch);
  }
  sharding::Judge judge{task, networks};
  const auto plan = method.search(judge, options);
  if (!plan) {
    return std::nullopt;
  }
  Candidate candidate = candidate_of(method, problem, *plan);
  candidate.search_seconds = seconds_since(start);
  candidate.questions = judge.questions();
  candidate.remark =
      fmt::format("judged by the networks: {} of look-ups and exchanges", judge.estimate(*plan).total);
  return candidate;
}

std::string why_no_plan(const sharding::Method& method, const ShardingProblem& problem) {
  if (!method.name.starts_with("neuroshard")) {
    return "";
  }
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{problem.task(), costs};
  return sharding::only_width_is_in_the_way(judge)
             ? "none in its limits: no GPU may be wider than 1.5 times the mean"
             : "";
}

std::vector<Candidate> our_candidates(const ShardingProblem& problem, const sharding::SearchOptions& options,
                                      const std::function<void(Candidate&)>& found) {
  const Division all = everything(problem.task());
  std::vector<Candidate> candidates;
  const auto any_fits = [&] {
    return std::ranges::any_of(candidates, [&](const Candidate& candidate) {
      return candidate.step || problem.has_memory_for(candidate.plan);
    });
  };
  const auto keep = [&](Candidate candidate) {
    if (found) {
      found(candidate);
    }
    candidates.push_back(std::move(candidate));
  };
  const auto add = [&](const Division& division, double exposed) {
    sharding::SearchOptions cut = options;
    if (is_hugectr(problem)) {  // whose divisions are many, and cut already
      cut.effort /= 5;
    }
    sharding::SearchOptions whole = cut;
    whole.may_cut = false;
    for (const sharding::SearchOptions& how : {cut, whole}) {
      if (options.stopped() && any_fits()) {
        return;
      }
      const bool is_the_same =
          division.placed.empty() ? !how.may_cut : how.may_cut && !problem.task().may_cut;
      if (is_the_same) {
        continue;
      }
      if (auto candidate = ours(problem, division, exposed, how)) {
        auto full = with_full_caches(problem, *candidate);
        keep(*std::move(candidate));
        if (full) {
          keep(*std::move(full));
        }
      }
    }
  };
  for (const double exposed : {1.0, 0.5, 0.0}) {
    add(all, exposed);
  }
  const auto add_those = [&](const std::vector<Division>& divisions) {
    for (const Division& division : divisions) {
      add(division, 1);
    }
  };
  const bool fits_placed = any_fits();
  if (fits_placed) {  // first: there is nothing to place, which takes the effort
    add_those(divisions_of_all(problem));
  } else if (const auto roomier = least_spare(problem, options)) {
    add(*roomier, 1);
  }
  add_those(divisions(problem));
  if (!fits_placed) {
    add_those(any_fits() ? divisions_of_all(problem) : last_resorts(problem, options));
  }
  return candidates;
}

}  // namespace lockstep
