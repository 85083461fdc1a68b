#include "app/search/searching.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "app/search/own_plan.hpp"
#include "app/search/refinement.hpp"

namespace lockstep {
namespace {

/// @param found is called with each as soon as it is made
std::vector<Candidate> candidates_of(const sharding::Method& method, const ShardingProblem& problem,
                                     const sharding::SearchOptions& options,
                                     const std::function<void(Candidate&)>& found) {
  if (method.name == "lockstep") {
    return our_candidates(problem, options, found);
  }
  auto candidate = candidate_by(method, problem, options);
  if (!candidate) {
    return {};
  }
  found(*candidate);
  return {*std::move(candidate)};
}

}  // namespace

Searching::Searching(const ShardingProblem& problem, const Progress& progress, BestSoFar& best,
                     TimeBudget budget, std::uint64_t seed)
    : problem_{problem}, simulator_{problem}, progress_{progress}, best_{best}, budget_{budget} {
  options_.seed = seed;
  options_.stopped = [this] { return budget_.is_spent(); };
}

void Searching::use(const PolicyRequest& request,
                    std::shared_ptr<const sharding::learned::PlacementPolicy> policy) {
  request_ = request;
  options_.policy = std::move(policy);
  if (options_.policy && options_.policy->scale().batch != problem_.task().batch) {
    fmt::print(stderr, "{}: trained with {} samples a step, used with {}\n", request_.weights,
               options_.policy->scale().batch, problem_.task().batch);
  }
}

void Searching::judge_own() {
  if (auto own = own_plan(problem_, simulator_)) {
    best_.offer(*own);
    all_.push_back(*std::move(own));
  }
}

void Searching::run(const sharding::Method& method) {
  if (is_late_for(method)) {
    left_out_.emplace_back(method.name);
    return;
  }
  if (learns(method) && !options_.policy) {
    train(method);
  }
  progress_.say(fmt::format("{}: searching", method.name));
  std::vector<Candidate> found =
      candidates_of(method, problem_, options_, [&](Candidate& candidate) { simulate(candidate, method); });
  if (found.empty()) {
    found.push_back({std::string{method.name}, {}, {}, 0});
  }
  std::ranges::move(found, std::back_inserter(all_));
}

void Searching::refine() {
  if (budget_.is_spent()) {
    return;
  }
  progress_.say("refining the fastest plans");
  RefinementOptions options;
  options.seed = options_.seed;
  options.stopped = options_.stopped;
  for (Candidate& candidate : fastest_refined(problem_, simulator_, all_, options)) {
    best_.offer(candidate);
    all_.push_back(std::move(candidate));
  }
}

SearchResult Searching::result() && {
  return {std::move(all_), std::move(left_out_), budget_.is_spent()};
}

bool Searching::any_step() const {
  return std::ranges::any_of(all_, [](const Candidate& candidate) { return candidate.step.has_value(); });
}

bool Searching::is_late_for(const sharding::Method& method) const {
  return budget_.is_spent() && any_step() && !learns(method);
}

void Searching::train(const sharding::Method& method) {
  progress_.say(fmt::format("{}: training", method.name));
  options_.policy = policy_by_training(method, problem_, options_, request_, progress_);
  if (budget_.is_spent()) {
    progress_.done();
    fmt::print(stderr, "{}: the budget ended the training; with more it would place better\n", method.name);
  }
}

void Searching::simulate(Candidate& candidate, const sharding::Method& method) {
  if (candidate.plan.tables.empty() || is_late_for(method)) {
    return;
  }
  progress_.say(fmt::format("{}: simulating", candidate.name));
  candidate.step = simulator_.step_time(candidate.plan);
  best_.offer(candidate);
}

}  // namespace lockstep
