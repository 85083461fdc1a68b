#include "search/plans/plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "search/plans/front_choice.hpp"
#include "search/plans/memory_bound.hpp"
#include "search/plans/plan_probes.hpp"
#include "search/plans/plan_tasks.hpp"
#include "search/plans/plan_variants.hpp"

namespace lockstep {
namespace {

constexpr double kShareOfOwn = 0.2;      // of the budget, for the scenario's own plan
constexpr double kShareOfRelaxed = 0.4;  // to the end of relaxed probes
constexpr double kShareOfProbes = 0.65;  // to the end of the others; what is left is for simulations
constexpr std::size_t kFront = 24;       // plans that are simulated for the front, at most
constexpr std::size_t kFrontRound = 4;   // of these at a time
constexpr std::size_t kRound = 8;        // simulated at a time
constexpr double kSlack = 0.05;          // by which an estimate is taken to be too slow, until one is by more
constexpr std::size_t kLeanest = 4;      // built when nothing fits, for what holds the memory

class PlanSearch {
 public:
  PlanSearch(PlanEvaluator& evaluator, const PlanSpace& space, const PlanSearchOptions& options,
             const Progress& progress)
      : evaluator_{evaluator}, space_{space}, options_{options}, tasks_{options.jobs, progress} {
    result_.enumeration = enumerate_plans(evaluator.problem(), space);
  }

  PlanSearchResult run() && {
    if (result_.enumeration.candidates.empty()) {
      return std::move(result_);
    }
    evaluator_.prepare(*std::ranges::max_element(result_.enumeration.candidates, {}, &PlanCandidate::gpus));
    end_after(kShareOfOwn);
    if (!options_.is_only_fastest) {
      judge_own();
    }
    rule_out();
    run_probes();
    sort_estimates();
    end_after(1);
    simulate_best();
    finish();
    return std::move(result_);
  }

 private:
  void end_after(double share) {
    if (options_.budget) {
      tasks_.end_at(begun_ +
                    std::chrono::duration_cast<PlanTasks::Clock::duration>(*options_.budget * share));
    }
  }

  void judge_own() {
    const auto end = tasks_.run(
        1, [&](std::size_t) { fmt::print("{}", printed(evaluator_.evaluate(std::nullopt))); },
        "simulating the scenario's own plan");
    if (!end.front()) {
      return;
    }
    result_.own_failure = end.front()->failure;
    if (result_.own_failure.empty()) {
      result_.own = evaluation_in(end.front()->printed);
    }
  }

  /// Rules out candidates whose lower bound of memory is more than the largest GPU has.
  void rule_out() {
    const Bytes capacity = evaluator_.most_capacity();
    for (const PlanCandidate& candidate : result_.enumeration.candidates) {
      const Bytes bound = evaluator_.whole_memory(memory_bound(candidate, evaluator_.problem()));
      if (bound > capacity) {
        ++result_.enumeration.pruned[Pruned::Bound];
        ruled_out_.push_back({candidate, {Seconds{0}, bound}, {}});
      } else {
        open_.push_back(candidate);
      }
    }
    std::ranges::stable_sort(ruled_out_, {}, [](const FoundPlan& plan) { return plan.estimate.memory; });
  }

  void run_probes() {
    end_after(kShareOfRelaxed);
    probes_.run_relaxed();
    time_was_up_ = tasks_.is_stopped();
    end_after(kShareOfProbes);
    probes_.run_others(options_.keep);
    time_was_up_ = time_was_up_ || tasks_.is_stopped();
    result_.probes = probes_.wanted();
    result_.probes_run = probes_.done();
    result_.failures = probes_.failures();
    result_.failed_probes = probes_.failed();
    result_.not_estimated = probes_.unknown_for_failures();
    if (probes_.beaten() > 0) {
      result_.enumeration.pruned[Pruned::Beaten] = probes_.beaten();
    }
  }

  /// @param of what was simulated, for the message
  bool is_well(const PlanTaskEnd& end, const std::string& of) {
    count_failure(result_.failures, end, of);
    return end.failure.empty();
  }

  /// How fast a plan would be that does not fit is worked out only if it is needed.
  std::optional<PlanFigures> estimate_one(std::size_t number, const CostsOfStages& costs) {
    const PlanCandidate& candidate = open_[number];
    const EstimateInput input = evaluator_.estimate_input(candidate);
    const std::vector<Bytes> memory = memory_of_stages(candidate, costs, input);
    const Bytes most = evaluator_.normalised_memory(candidate, memory);
    FoundPlan& plan = estimates_.emplace(number, FoundPlan{candidate, {Seconds{0}, most}, {}}).first->second;
    if (evaluator_.fullness(candidate, memory) > 1) {
      return std::nullopt;
    }
    plan.estimate.step = estimate(candidate, costs, input).step;
    return plan.figures();
  }

  void sort_estimates() {
    for (const auto& [number, plan] : estimates_) {
      if (plan.is_estimated()) {
        result_.estimated.push_back(plan);
      } else {
        ++result_.enumeration.pruned[Pruned::Memory];
        beyond_.push_back(plan);
      }
    }
    balance_stages();
    std::ranges::stable_sort(result_.estimated, {}, [](const FoundPlan& plan) { return plan.estimate.step; });
    std::ranges::stable_sort(beyond_, {}, [](const FoundPlan& plan) { return plan.estimate.memory; });
  }

  /// Beside those with even stages, or in their place.
  void balance_stages() {
    std::vector<FoundPlan> balanced;
    if (space_.has(StageDepths::Uneven)) {
      balanced = with_balanced_stages(evaluator_, probes_, result_.estimated, beyond_);
      result_.balanced = balanced.size();
    }
    if (!space_.has(StageDepths::Even)) {
      std::erase_if(result_.estimated,
                    [](const FoundPlan& plan) { return plan.candidate.plan.pipeline > 1; });
    }
    result_.estimated.insert(result_.estimated.end(), balanced.begin(), balanced.end());
  }

  void simulate_best() {
    for (const int gpus : evaluator_.problem().gpus) {
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < result_.estimated.size(); ++i) {
        if (result_.estimated[i].candidate.gpus == gpus) {
          order.push_back(i);
        }
      }
      simulate_fastest(order);
    }
    if (!options_.is_only_fastest) {
      simulate_front(false);
    }
    simulate(with_overlap(evaluator_.problem(), space_, result_.estimated, result_.plans));
    if (!options_.is_only_fastest) {
      simulate_front(true);
      simulate_twins_of_front();
    }
    if (simulated_fits_ == 0) {  // estimates of memory may be off: what is built tells
      simulate_leanest();
    }
    if (simulated_fits_ == 0 && !options_.is_only_fastest &&
        why_not_offloaded(evaluator_.problem()).empty()) {
      try_offload();
    }
  }

  void simulate_leanest() {
    std::vector<FoundPlan> leanest = beyond_;
    leanest.resize(std::min(leanest.size(), kLeanest));
    for (auto& [candidate, guess, evaluation] : leanest) {
      const auto costs = probes_.costs_of(candidate).value();
      guess.step = estimate(candidate, costs, evaluator_.estimate_input(candidate)).step;
    }
    leanest.insert(leanest.end(), ruled_out_.begin(), ruled_out_.end());
    leanest.resize(std::min(leanest.size(), kLeanest));
    simulate(leanest);
  }

  /// Round by round in the order of estimates, until the next one is out of reach.
  void simulate_fastest(const std::vector<std::size_t>& order) {
    double best = 0, slack = kSlack;
    std::size_t fits = 0, next = 0;
    const auto is_in_reach = [&](std::size_t number) {
      return fits < options_.keep ||
             result_.estimated[number].estimate.step.in_base_units() <= best * (1 + slack);
    };
    while (next < std::min(order.size(), kMostSimulated) && !tasks_.is_stopped()) {
      std::vector<FoundPlan> round;
      for (; next < order.size() && round.size() < kRound && is_in_reach(order[next]); ++next) {
        round.push_back(result_.estimated[order[next]]);
      }
      if (round.empty()) {
        return;
      }
      for (const FoundPlan& plan : simulate(round)) {
        if (plan.evaluation->fits()) {
          ++fits;
          best = best == 0 ? plan.evaluation->step : std::min(best, plan.evaluation->step);
          slack = std::max(slack, plan.estimate.step.in_base_units() / plan.evaluation->step - 1);
        }
      }
    }
    const auto left =
        std::ranges::count_if(order.begin() + static_cast<std::ptrdiff_t>(next), order.end(), is_in_reach);
    if (left > 0 && !tasks_.is_stopped()) {
      result_.left[result_.estimated[order.front()].candidate.gpus] = static_cast<std::size_t>(left);
    }
  }

  /// Plans of the estimates' front, until the simulated ones show it. @param with_twins of those that have
  /// tensor parallelism: whether it hides its messages
  void simulate_front(bool with_twins) {
    for (std::size_t done = 0; done < kFront && !tasks_.is_stopped();) {
      std::vector<FoundPlan> plans = known_so_far();
      std::vector<FrontPlan> figures;
      for (const FoundPlan& plan : plans) {
        figures.push_back({plan.figures(), plan.evaluation.has_value()});
      }
      for (const OverlapTwin& twin : with_twins ? twins_of(plans) : std::vector<OverlapTwin>{}) {
        plans.push_back(twin.plan);
        figures.push_back({twin.figures, false});
      }
      std::vector<FoundPlan> chosen;
      for (const std::size_t i : next_of_front(figures, std::min(kFrontRound, kFront - done))) {
        chosen.push_back(plans[i]);
      }
      if (chosen.empty()) {
        return;
      }
      done += chosen.size();
      simulate(chosen);
    }
  }

  /// Twins of @p plans that were not simulated.
  [[nodiscard]] std::vector<OverlapTwin> twins_of(const std::vector<FoundPlan>& plans) const {
    std::vector<OverlapTwin> twins = overlap_twins(evaluator_.problem(), space_, plans);
    std::erase_if(twins, [&](const OverlapTwin& twin) { return is_simulated(twin.plan.candidate); });
    return twins;
  }

  /// So that no plan of the front is beaten by itself.
  void simulate_twins_of_front() {
    std::vector<FoundPlan> twins;
    for (const OverlapTwin& twin : twins_of(front_of(result_.plans))) {
      twins.push_back(twin.plan);
    }
    twins.resize(std::min(twins.size(), kFront));
    simulate(twins);
  }

  [[nodiscard]] bool is_simulated(const PlanCandidate& candidate) const {
    return std::ranges::find(simulated_, candidate) != simulated_.end();
  }

  /// Plans that fit, with the estimated ones that were not simulated, and variants that fit.
  [[nodiscard]] std::vector<FoundPlan> known_so_far() const {
    std::vector<FoundPlan> plans = result_.plans;
    std::ranges::copy_if(result_.estimated, std::back_inserter(plans),
                         [&](const FoundPlan& guess) { return !is_simulated(guess.candidate); });
    return plans;
  }

  /// Simulates the plans that were not yet. @return with judgements; what failed is left out
  std::vector<FoundPlan> simulate(std::vector<FoundPlan> plans) {
    std::erase_if(plans, [&](const FoundPlan& plan) { return is_simulated(plan.candidate); });
    const auto ends = tasks_.run(
        plans.size(),
        [&](std::size_t i) { fmt::print("{}", printed(evaluator_.evaluate(plans[i].candidate))); },
        "simulating plans",
        evaluator_.needs_own_process() ? TaskProcesses::OnePerTask : TaskProcesses::Shared);
    std::vector<FoundPlan> judged;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!ends[i]) {
        continue;
      }
      simulated_.push_back(plans[i].candidate);
      if (is_well(*ends[i], in_words(plans[i].candidate))) {
        plans[i].evaluation = evaluation_in(ends[i]->printed);
        judged.push_back(plans[i]);
        (plans[i].evaluation->fits() ? result_.plans : result_.too_big).push_back(plans[i]);
      } else {
        result_.failed.push_back(plans[i].candidate);
      }
    }
    simulated_fits_ = result_.plans.size();
    return judged;
  }

  /// Plans that do not fit, and the leanest without a pipeline, whose parameters may leave the GPU too. The
  /// latter are one of each degree of tensor parallelism and micro-batch.
  [[nodiscard]] std::vector<FoundPlan> plans_to_offload() const {
    std::vector<FoundPlan> plans = result_.too_big;
    constexpr std::size_t kMost = 2 * kLeanest;
    std::set<std::pair<int, std::int64_t>> kinds;
    for (const std::vector<FoundPlan>* list : {&beyond_, &ruled_out_}) {
      for (const FoundPlan& plan : *list) {
        const PlanCandidate& of = plan.candidate;
        if (of.plan.pipeline == 1 && kinds.size() < kMost &&
            kinds.emplace(of.plan.tensor, of.micro_batch).second) {
          plans.push_back(plan);
        }
      }
    }
    return plans;
  }

  /// Tries host memory for plans that do not fit. The GPU memory that it frees may have room for larger
  /// micro-batches.
  void try_offload() {
    const std::vector<FoundPlan> without = result_.too_big;
    const std::vector<PlanCandidate> failed = result_.failed;
    std::vector<FoundPlan> tried = simulate(with_offload(evaluator_.problem(), plans_to_offload()));
    while (!tried.empty()) {
      std::erase_if(tried, [](const FoundPlan& plan) { return !plan.evaluation->fits(); });
      tried = simulate(with_larger_micro_batches(evaluator_.problem(), space_, tried));
    }
    result_.offloaded = std::exchange(result_.plans, {});
    result_.too_big = without;
    result_.failed = failed;
  }

  void finish() {
    std::ranges::stable_sort(result_.plans, {}, [](const FoundPlan& plan) { return plan.evaluation->step; });
    std::ranges::stable_sort(result_.too_big, {},
                             [](const FoundPlan& plan) { return plan.evaluation->memory.total(); });
    std::ranges::stable_sort(result_.offloaded, {},
                             [](const FoundPlan& plan) { return plan.evaluation->step; });
    result_.front = front_of(result_.plans);
    result_.interruption = tasks_.interruption();
    result_.out_of_time = result_.interruption == 0 && (time_was_up_ || tasks_.is_stopped());
  }

  PlanEvaluator& evaluator_;
  const PlanSpace& space_;
  const PlanSearchOptions& options_;
  PlanTasks tasks_;
  PlanSearchResult result_;
  std::vector<PlanCandidate> open_;  // that may fit
  PlanProbes probes_{evaluator_, tasks_, open_, [this](std::size_t number, const CostsOfStages& costs) {
                       return estimate_one(number, costs);
                     }};
  std::map<std::size_t, FoundPlan> estimates_;  // by number in open_
  std::vector<FoundPlan> ruled_out_;            // by their bound: leanest first
  std::vector<FoundPlan> beyond_;               // the GPU's memory, by the estimate: leanest first
  std::vector<PlanCandidate> simulated_;
  std::size_t simulated_fits_ = 0;
  PlanTasks::Clock::time_point begun_ = PlanTasks::Clock::now();
  bool time_was_up_ = false;  // before all stages were simulated
};

}  // namespace

PlanSearchResult search_plans(PlanEvaluator& evaluator, const PlanSpace& space,
                              const PlanSearchOptions& options, const Progress& progress) {
  return PlanSearch{evaluator, space, options, progress}.run();
}

}  // namespace lockstep
