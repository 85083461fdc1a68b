#include "search/embedding/candidates.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "search/learned/table_features.hpp"
#include "search/sharding/exact.hpp"
#include "search/sharding/table_wise.hpp"

namespace lockstep {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Candidate candidate_of(const sharding::Method& method, const ShardingProblem& problem,
                       const sharding::Plan& plan) {
  const PlacementSplit all = everything(problem.task());
  return {.name = std::string{method.name},
          .plan = sharding::embedding_plan_of(plan, all.placed, all.spread),
          .step = {},
          .split = all,
          .pieces = plan};
}

std::optional<sharding::Plan> exact_plan(sharding::CachedCostModel& cost_model, Seconds bound,
                                         const sharding::SearchOptions& options, std::string& remark) {
  sharding::ExactPlacement exact = sharding::exact_placement(cost_model, options);
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
  sharding::CachedCostModel cost_model{problem.task(), costs};
  std::string remark;
  const auto plan = method.name == "exact"
                        ? exact_plan(cost_model, costs.at_least(problem.task()), options, remark)
                        : method.search(cost_model, options);
  if (!plan) {
    return std::nullopt;
  }
  Candidate candidate = candidate_of(method, problem, *plan);
  candidate.search_seconds = seconds_since(start);
  candidate.questions = cost_model.questions();
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
  sharding::CachedCostModel cost_model{task, networks};
  const auto plan = method.search(cost_model, options);
  if (!plan) {
    return std::nullopt;
  }
  Candidate candidate = candidate_of(method, problem, *plan);
  candidate.search_seconds = seconds_since(start);
  candidate.questions = cost_model.questions();
  candidate.remark =
      fmt::format("judged by the networks: {} of lookups and exchanges", cost_model.estimate(*plan).total);
  return candidate;
}

std::string why_no_plan(const sharding::Method& method, const ShardingProblem& problem) {
  if (!method.name.starts_with("neuroshard")) {
    return "";
  }
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::CachedCostModel cost_model{problem.task(), costs};
  return sharding::only_width_is_in_the_way(cost_model)
             ? "none in its limits: no GPU may be wider than 1.5 times the mean"
             : "";
}

}  // namespace lockstep
