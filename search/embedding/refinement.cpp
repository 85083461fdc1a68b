#include "search/embedding/refinement.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "search/embedding/other_shardings.hpp"
#include "search/embedding/own_plan.hpp"
#include "search/sharding/small_changes.hpp"

namespace lockstep {
namespace {

// Chosen on tasks of seeds that no table of docs/search.md uses.
constexpr double kFirstThreshold = 0.001;   // of the step: how much longer a change may make it at first
constexpr double kClearlyWorse = 0.01;      // of the fast models' cost: changes that are not simulated
constexpr std::int64_t kTriesOfEach = 100;  // changes that are drawn for each simulation, at most
constexpr std::int64_t kFurther = 4;   // times as many simulations of the best that was refined, in a round
constexpr int kRounds = 5;             // of these, at most
constexpr double kWorthwhile = 0.001;  // of the step: what a round has to save for another one

constexpr std::string_view kRefined = "refined";  // in the name of what was

std::string name_of_refined(const Candidate& start) {
  if (start.name.find(kRefined) != std::string::npos) {
    return start.name;
  }
  return start.name.starts_with("lockstep") ? start.name + ", refined"
                                            : "lockstep, refined from " + start.name;
}

class Refinement {
 public:
  Refinement(const ShardingProblem& problem, StepSimulator& simulator, const Candidate& start,
             const RefinementOptions& options)
      : simulator_{simulator},
        options_{options},
        task_{placed_task(problem, start.split)},
        exchanges_{exchanges_of(problem, start.split)},
        costs_{exchanges_ ? problem.costs_of_nodes(*exchanges_) : problem.costs(1)},
        cost_model_{task_, costs_},
        state_{cost_model_, start.pieces},
        changes_{options.seed, "refinement", !start.split.by_nodes},
        step_{start.step.value()},
        best_{start} {}

  Candidate run() {
    std::int64_t simulated = 0;
    for (std::int64_t tried = 0; tried < kTriesOfEach * options_.simulations; ++tried) {
      if (simulated == options_.simulations || options_.stopped()) {
        break;
      }
      sharding::DeviceState changed = state_;
      if (!changes_.make(changed, changed.slowest()) ||
          changed.judge_again() > (1 + kClearlyWorse) * state_.cost()) {
        continue;
      }
      const double left = 1 - static_cast<double>(simulated) / static_cast<double>(options_.simulations);
      ++simulated;
      cost_model(std::move(changed), kFirstThreshold * left * left);
    }
    return std::move(best_);
  }

 private:
  static std::optional<Exchanges> exchanges_of(const ShardingProblem& problem, const PlacementSplit& split) {
    return split.by_nodes ? std::optional{problem.exchanges_of_nodes()} : std::nullopt;
  }

  void cost_model(sharding::DeviceState changed, double threshold) {
    const sharding::Plan pieces = changed.plan();
    EmbeddingPlan plan = plan_of(pieces, best_.split);
    const std::optional<Seconds> step = simulator_.step_time(plan);
    if (!step || *step > (1 + threshold) * step_) {
      return;
    }
    state_ = std::move(changed);
    step_ = *step;
    if (step_ < *best_.step) {
      best_.plan = std::move(plan);
      best_.pieces = pieces;
      best_.step = step_;
      options_.found(best_);
    }
  }

  StepSimulator& simulator_;
  const RefinementOptions& options_;
  sharding::Task task_;
  std::optional<Exchanges> exchanges_;  // among nodes
  sharding::ModelCosts costs_;
  sharding::CachedCostModel cost_model_;
  sharding::DeviceState state_;
  sharding::SmallChanges changes_;
  Seconds step_;
  Candidate best_;
};

}  // namespace

Candidate refined(const ShardingProblem& problem, StepSimulator& simulator, const Candidate& start,
                  const RefinementOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  Candidate named = start;
  named.name = name_of_refined(start);
  Candidate best = Refinement{problem, simulator, named, options}.run();
  best.search_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return best;
}

namespace {

/// @p best, with other shardings of its tables and refined, for as long as that saves something.
Candidate refined_further(const ShardingProblem& problem, StepSimulator& simulator, Candidate best,
                          RefinementOptions options) {
  best.name = name_of_refined(best);
  best.name.insert(best.name.find(kRefined) + kRefined.size(), " further");
  for (int round = 0; round < kRounds && !options.stopped(); ++round) {
    const Seconds before = best.step.value();
    const auto last = static_cast<std::int64_t>(simulator.simulations()) + kFurther * options.simulations;
    RefinementOptions of_round = options;
    of_round.simulations *= kFurther;
    best = with_other_shardings(problem, simulator, best, of_round);
    if (!best.pieces.pieces.empty()) {
      of_round.simulations = last - static_cast<std::int64_t>(simulator.simulations());
      best = refined(problem, simulator, best, of_round);
    }
    if (*best.step > (1 - kWorthwhile) * before) {
      break;
    }
    ++options.seed;
  }
  return best;
}

/// The fastest candidate, of equal ones the first; null: none has a step.
const Candidate* fastest_of(std::span<const Candidate> refined, std::span<const Candidate> others) {
  const Candidate* best = nullptr;
  for (const auto& candidates : {refined, others}) {
    for (const Candidate& candidate : candidates) {
      if (candidate.step && (best == nullptr || *candidate.step < *best->step)) {
        best = &candidate;
      }
    }
  }
  return best;
}

}  // namespace

std::vector<Candidate> fastest_refined(const ShardingProblem& problem, StepSimulator& simulator,
                                       std::span<const Candidate> candidates,
                                       const RefinementOptions& options) {
  constexpr std::size_t kFastest = 3;
  std::map<Seconds, const Candidate*> by_step;  // of equal ones the first
  const bool can_move = problem.task().devices() > 1;
  for (const Candidate& candidate : candidates) {
    if (can_move && candidate.step && !candidate.pieces.pieces.empty()) {
      by_step.try_emplace(*candidate.step, &candidate);
    }
  }
  std::vector<const Candidate*> chosen;
  for (const auto& [step, candidate] : by_step) {
    const bool places_all = candidate->split.spread.tables.empty();
    // This one has most to move.
    const bool is_first_that_does = places_all && std::ranges::none_of(chosen, [](const Candidate* other) {
                                      return other->split.spread.tables.empty();
                                    });
    if (chosen.size() < kFastest || is_first_that_does || candidate->name == kOwnPlan) {
      chosen.push_back(candidate);
    }
  }
  std::vector<Candidate> results;
  RefinementOptions of_each = options;
  for (const Candidate* const candidate : chosen) {
    if (options.stopped()) {
      break;
    }
    results.push_back(refined(problem, simulator, *candidate, of_each));
    ++of_each.seed;
  }
  const Candidate* const best = fastest_of(results, candidates);
  if (best != nullptr && can_move && !options.stopped()) {
    results.push_back(refined_further(problem, simulator, *best, of_each));
  }
  return results;
}

}  // namespace lockstep
