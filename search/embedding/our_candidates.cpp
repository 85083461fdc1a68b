#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/made_ahead.hpp"
#include "search/embedding/cache_sizes.hpp"
#include "search/embedding/candidates.hpp"
#include "search/embedding/host_tables.hpp"
#include "search/embedding/left_out_plans.hpp"
#include "search/embedding/relocatable_shards.hpp"
#include "search/sharding/local_search.hpp"
#include "search/sharding/table_wise.hpp"

namespace lockstep {
namespace {

std::optional<Candidate> ours(const ShardingProblem& problem, const PlacementSplit& split, double exposed,
                              const sharding::SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const sharding::Task task = placed_task(problem, split);
  const sharding::ModelCosts costs = problem.costs(exposed);
  sharding::CachedCostModel cost_model{task, costs};
  const auto plan =
      split.placed.empty() ? std::optional{sharding::Plan{}} : sharding::lockstep_search(cost_model, options);
  if (!plan) {
    return std::nullopt;
  }
  Candidate candidate{
      fmt::format("lockstep{}{}{}", split.name.empty() ? "" : ", " + split.name,
                  options.may_cut || !problem.task().may_cut ? "" : ", whole tables",
                  exposed < 1 ? fmt::format(", {:.0f} % of the exchanges hidden", 100 * (1 - exposed)) : ""),
      sharding::embedding_plan_of(*plan, split.placed, split.spread),
      {},
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
      split,
      *plan};
  candidate.questions = cost_model.questions();
  if (split.placed.empty()) {
    make_movable(problem, candidate);
  }
  return candidate;
}

/// Places the remaining tables at once, to see whether they fit.
bool fits(const ShardingProblem& problem, const PlacementSplit& split,
          const sharding::SearchOptions& options) {
  sharding::SearchOptions quick = options;
  quick.effort = 1;
  const auto candidate = ours(problem, split, 1, quick);
  return candidate && problem.has_memory_for(candidate->plan);
}

PlacementSplit with_spare(PlacementSplit split, double spare) {
  split.spare = spare;
  if (spare > 0) {
    split.name +=
        fmt::format("{}{:.0f} % of the room kept free", split.name.empty() ? "" : ", ", 100 * spare);
  }
  return split;
}

/// The least number of the first tables that hosts have room for, below @p end, in host memory with which all
/// fits: GPUs have less to hold with each.
std::optional<std::size_t> fewest_in_host_memory(const ShardingProblem& problem, std::size_t end,
                                                 const std::function<PlacementSplit(std::size_t)>& with,
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
std::optional<PlacementSplit> least_spare(const ShardingProblem& problem,
                                          const sharding::SearchOptions& options) {
  for (const double spare : kSpares) {
    PlacementSplit split = with_spare(everything(problem.task()), spare);
    if (spare > 0 && fits(problem, split, options)) {
      return split;
    }
  }
  return std::nullopt;
}

/// Adds splits with as few of the first of @p tables in host memory as it takes.
void add_in_host_memory(const ShardingProblem& problem, std::span<const std::int64_t> tables,
                        const TableShardingSpec& how, std::string_view which,
                        const sharding::SearchOptions& options, std::vector<PlacementSplit>& splits) {
  std::size_t end = tables.size() + 1;
  for (const double spare : kSpares) {
    const auto with = [&](std::size_t count) {
      return with_spare(
          into_host_memory(problem, tables.first(count), how, count < tables.size() ? which : ""), spare);
    };
    if (const auto count = fewest_in_host_memory(problem, end, with, options)) {
      end = *count;  // more room kept free has to spare a table the way
      PlacementSplit split = with(*count);
      const bool is_known = std::ranges::any_of(splits, [&](const PlacementSplit& other) {
        return other.placed == split.placed && other.spare == spare &&
               in_host_memory(other.spread.tables.front()) == in_host_memory(how);
      });
      if (!is_known) {
        splits.push_back(std::move(split));
      }
    }
  }
}

constexpr double kSmallestCache = 0.01;  // of a table's rows

/// All tables, where hosts have room for them, with caches that leave room for those of with_full_caches().
void add_all_cached(const ShardingProblem& problem, std::vector<PlacementSplit>& splits) {
  const std::vector<std::int64_t> tables = tables_for_hosts(problem);
  if (tables.size() == problem.task().tables.size()) {
    PlacementSplit split = into_host_memory(problem, tables, rows_in_host_memory(kSmallestCache));
    const bool is_known = std::ranges::any_of(splits, [&](const PlacementSplit& other) {
      return other.placed.empty() && other.name == split.name;
    });
    if (!is_known) {
      splits.push_back(std::move(split));
    }
  }
}

/// Plans that fit where the usual ones do not, for the tables take too much room or leave too little: more of
/// it is kept free, or every table cut by rows, or as few as it takes are in host memory, the coldest or the
/// largest, with caches of several sizes or without.
std::vector<PlacementSplit> last_resorts(const ShardingProblem& problem,
                                         const sharding::SearchOptions& options) {
  constexpr std::array kCaches{0.5, TableShardingSpec::kCacheLoadFactor, 0.1, 0.05, 0.02, kSmallestCache,
                               0.0};
  std::vector<PlacementSplit> splits;
  for (const double spare : kSpares) {
    splits.push_back(with_spare(everything(problem.task()), spare));
  }
  if (problem.task().may_cut) {
    splits.push_back(all_by_rows(problem.task()));
  }
  std::erase_if(splits, [&](const PlacementSplit& split) { return !fits(problem, split, options); });
  if (!splits.empty() || !why_not_in_host_memory(problem).empty()) {
    return splits;
  }
  for (const double cached : kCaches) {
    const TableShardingSpec how = rows_in_host_memory(cached);
    const std::vector<std::int64_t> largest = tables_for_hosts(problem);
    const std::vector<std::int64_t> coldest = tables_for_hosts(problem, coldest_first(problem, how));
    add_in_host_memory(problem, coldest, how, "coldest", options, splits);
    if (largest != coldest) {
      add_in_host_memory(problem, largest, how, "largest", options, splits);
    }
  }
  add_all_cached(problem, splits);
  return splits;
}

/// Makes candidates in turn, keeps them, and stops where a search is over that has one which fits.
class OurCandidates {
 public:
  OurCandidates(const ShardingProblem& problem, const sharding::SearchOptions& options,
                const std::function<void(Candidate&)>& found, const MakingThreads& threads)
      : problem_{problem}, options_{options}, found_{found}, threads_{threads} {}

  [[nodiscard]] bool any_fits() const {
    return std::ranges::any_of(candidates_, [&](const Candidate& candidate) {
      return candidate.step || problem_.has_memory_for(candidate.plan);
    });
  }

  /// @param exposed shares of the exchanges that are thought to lengthen the step, each with all splits
  void add(const std::vector<PlacementSplit>& splits, std::span<const double> exposed) {
    std::vector<Part> parts;
    for (const double share : exposed) {
      for (const PlacementSplit& split : splits) {
        add_parts(split, share, parts);
      }
    }
    MadeAhead<std::optional<Candidate>> ahead{parts.size(), threads_.others, [&](std::size_t number) {
                                                Part part = parts[number];
                                                part.options.stopped = [&] {
                                                  return ahead.is_over() || threads_.is_late();
                                                };
                                                return ours(problem_, part.split, part.exposed, part.options);
                                              }};
    for (std::size_t number = 0; number < parts.size(); ++number) {
      const bool is_stopped = options_.stopped();
      if (is_stopped && any_fits()) {
        return;
      }
      const Part& part = parts[number];
      keep(is_stopped ? ours(problem_, part.split, part.exposed, part.options) : ahead.take(number));
    }
  }

  [[nodiscard]] std::vector<Candidate> all() && { return std::move(candidates_); }

 private:
  struct Part {
    PlacementSplit split;
    double exposed;
    sharding::SearchOptions options;
  };

  void add_parts(const PlacementSplit& split, double exposed, std::vector<Part>& parts) const {
    sharding::SearchOptions how = options_;
    if (is_hugectr(problem_)) {  // whose splits are many, and cut already
      how.effort /= 5;
    }
    for (const bool may_cut : {options_.may_cut, false}) {
      how.may_cut = may_cut;
      const bool is_the_same = split.placed.empty() ? !may_cut : may_cut && !problem_.task().may_cut;
      if (!is_the_same) {
        parts.push_back({split, exposed, how});
      }
    }
  }

  void keep(std::optional<Candidate> candidate) {
    if (!candidate) {
      return;
    }
    std::optional<Candidate> full = with_full_caches(problem_, *candidate);
    keep_one(*std::move(candidate));
    if (full) {
      keep_one(*std::move(full));
    }
  }

  void keep_one(Candidate candidate) {
    if (found_) {
      found_(candidate);
    }
    candidates_.push_back(std::move(candidate));
  }

  const ShardingProblem& problem_;
  const sharding::SearchOptions& options_;
  const std::function<void(Candidate&)>& found_;
  const MakingThreads& threads_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<Candidate> our_candidates(const ShardingProblem& problem, const sharding::SearchOptions& options,
                                      const std::function<void(Candidate&)>& found,
                                      const MakingThreads& threads) {
  constexpr std::array kAll{1.0};
  constexpr std::array kSome{1.0, 0.5, 0.0};
  OurCandidates candidates{problem, options, found, threads};
  candidates.add({everything(problem.task())}, kSome);
  const bool fits_placed = candidates.any_fits();
  if (fits_placed) {  // first: there is nothing to place, which takes the effort
    candidates.add(divisions_of_all(problem), kAll);
  } else if (const auto roomier = least_spare(problem, options)) {
    candidates.add({*roomier}, kAll);
  }
  candidates.add(splits(problem), kAll);
  if (!fits_placed) {
    candidates.add(candidates.any_fits() ? divisions_of_all(problem) : last_resorts(problem, options), kAll);
  }
  return std::move(candidates).all();
}

}  // namespace lockstep
