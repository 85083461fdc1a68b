#include "app/search/search_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/report.hpp"
#include "app/search/plan_reasons.hpp"
#include "calibration/band.hpp"
#include "scenario/trust.hpp"
#include "search/embedding/device_loads.hpp"
#include "search/embedding/left_out_plans.hpp"
#include "search/embedding/own_plan.hpp"

namespace lockstep {
namespace {

constexpr std::ptrdiff_t kOursShown = 6;

bool is_among_our_best(const Candidate& candidate, const SearchResult& result) {
  return candidate.step && std::ranges::count_if(result.candidates, [&](const Candidate& other) {
                             return is_ours(other) && other.step && *other.step < *candidate.step;
                           }) < kOursShown;
}

std::string end_line(const SearchEnd& end) {
  return end.time ? "  time was up (--budget) before all was looked at: with more the plan may be another, "
                    "and better\n"
         : end.effort ? "  the effort was spent before all was looked at: a larger --effort (4: four times "
                        "the usual) looks further\n"
                      : "";
}

std::size_t width_of_names(const SearchResult& result) {
  std::size_t width = 52;
  for (const Candidate& candidate : result.candidates) {
    if (!is_ours(candidate) || is_among_our_best(candidate, result)) {
      width = std::max(width, candidate.name.size());
    }
  }
  return width;
}

std::string method_lines(const ShardingProblem& problem, const SearchResult& result, const Candidate& best) {
  std::string text = "\nplans, simulated\n";
  std::size_t hidden = 0;
  const std::size_t width = width_of_names(result);
  for (const Candidate& candidate : result.candidates) {
    if (is_ours(candidate) && !is_among_our_best(candidate, result)) {
      ++hidden;
      continue;
    }
    text += fmt::format("  {:<{}}", candidate.name, width);
    const std::string& remark = candidate.remark;
    text += candidate.step
                ? fmt::format("{:>10}  {:>+7.1f} %{}\n", to_string(*candidate.step),
                              100 * (*candidate.step / *best.step - 1), remark.empty() ? "" : "  " + remark)
                : candidate.why_no_step + "\n";
  }
  if (hidden > 0) {
    text += fmt::format("  and {} slower ones of lockstep's\n", hidden);
  }
  for (const std::string& plans : left_out_plans(problem)) {
    text += fmt::format("  not tried: {}\n", plans);
  }
  for (const std::string& name : result.left_out) {
    text += fmt::format("  {:<{}}no time was left\n", name, width);
  }
  return text + end_line(result.end);
}

/// The step time that no plan of whole tables and columns can get below, against the plan, under the fast
/// models.
std::string bound_line(const ShardingProblem& problem, const Candidate& best) {
  const sharding::ModelCosts costs = problem.costs(1);
  const Seconds bound = costs.at_least(problem.task());
  const char* kinds = problem.task().may_cut ? " and column-wise" : "";
  return bound > *best.step
             ? fmt::format("bound        {} for plans of whole{} tables: what is not saves more\n", bound,
                           kinds)
             : fmt::format(
                   "bound        inputs, lookups and exchanges of whole{} tables take at least {} of the {} "
                   "step\n",
                   kinds, bound, *best.step);
}

/// A remark on `respect_memory: false`: steps must fit all the same, unless memory is not checked.
std::string memory_line(const ShardingProblem& problem) {
  const ScenarioSpec& scenario = problem.resolved().scenario;
  return scenario.parallelism.embedding.respect_memory || !scenario.memory.check_capacity
             ? ""
             : "memory       tables may fill GPUs beyond memory_share, but steps have to fit "
               "(respect_memory: "
               "false): memory.check_capacity: false has those simulated that do not\n";
}

/// A plan beside the best one.
std::string beside(const char* what, const Candidate* other, const Candidate& best) {
  return other == nullptr || other == &best
             ? ""
             : fmt::format("{}{}: {:+.1f} %\n", what,
                           other->name == kOwnPlan ? to_string(*other->step)
                                                   : fmt::format("{}  {}", other->name, *other->step),
                           100 * (*other->step / *best.step - 1));
}

}  // namespace

std::string search_text(const ShardingProblem& problem, const SearchResult& result, const Candidate& best) {
  const ResolvedScenario resolved = problem.under(best.plan);
  const SimulationResult simulated = predict(resolved, nullptr, EngineMode::Bare);
  const Band band = around(step_band(resolved, simulated));
  const Candidate* const rule = result.best_rule();
  const Candidate* const own = result.own();
  const auto beats = [&](const Candidate* other) { return other == nullptr || *best.step <= *other->step; };
  const bool is_best = beats(rule) && beats(own);  // of a method asked for by name: maybe not
  std::string text =
      fmt::format("{}\n  {} on {}\n\n{}    {}\nstep time    {}  ({})\n", resolved.scenario.name,
                  plural(problem.task().tables.size(), "table"), plural(problem.task().devices(), "GPU"),
                  is_best ? "best plan" : "its plan ", best.name, *best.step, in_words(band));
  text += beside("best rule    ", rule, best) + beside("own plan     ", own, best);
  text += bound_line(problem, best) + memory_line(problem) + method_lines(problem, result, best);
  text += "\nload of the tables\n" + load_lines(device_loads(problem, best.plan));
  const bool own_is_better = own != nullptr && (rule == nullptr || *own->step < *rule->step);
  const Candidate* const rival = own_is_better ? own : rule;
  return rival == nullptr || rival == &best ? text : text + reasons(problem, {best, simulated}, *rival);
}

}  // namespace lockstep
