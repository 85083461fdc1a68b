#include "app/search/candidates.hpp"

#include <fmt/format.h>

#include <chrono>

#include "app/search/left_out_plans.hpp"
#include "app/search/movable_pieces.hpp"
#include "search/sharding/local_search.hpp"

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

/// The largest tables in host memory until the rest fits.
std::optional<Division> enough_in_host_memory(const ShardingProblem& problem,
                                              const sharding::SearchOptions& options) {
  sharding::SearchOptions quick = options;
  quick.effort = 1;
  for (std::size_t count = 1; count < problem.task().tables.size(); ++count) {
    Division division = into_host_memory(problem.task(), count);
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
  const Division all = everything(problem.task());
  Candidate candidate{std::string{method.name},
                      sharding::embedding_plan_of(*plan, all.placed, all.spread),
                      {},
                      seconds_since(start),
                      all,
                      *plan};
  candidate.questions = judge.questions();
  return candidate;
}

std::vector<Candidate> our_candidates(const ShardingProblem& problem, const sharding::SearchOptions& options,
                                      const std::function<void(Candidate&)>& found) {
  const Division all = everything(problem.task());
  std::vector<Candidate> candidates;
  const auto add = [&](const Division& division, double exposed) {
    sharding::SearchOptions cut = options;
    if (is_hugectr(problem)) {  // whose divisions are many, and cut already
      cut.effort /= 5;
    }
    sharding::SearchOptions whole = cut;
    whole.may_cut = false;
    for (const sharding::SearchOptions& how : {cut, whole}) {
      if (options.stopped() && !candidates.empty()) {
        return;
      }
      const bool is_the_same =
          division.placed.empty() ? !how.may_cut : how.may_cut && !problem.task().may_cut;
      if (is_the_same) {
        continue;
      }
      if (auto candidate = ours(problem, division, exposed, how)) {
        if (found) {
          found(*candidate);
        }
        candidates.push_back(*std::move(candidate));
      }
    }
  };
  for (const double exposed : {1.0, 0.5, 0.0}) {
    add(all, exposed);
  }
  for (const Division& division : divisions(problem)) {
    add(division, 1);
  }
  if (candidates.empty() && why_not_in_host_memory(problem).empty()) {
    if (const auto division = enough_in_host_memory(problem, options)) {
      add(*division, 1);
    }
  }
  return candidates;
}

}  // namespace lockstep
