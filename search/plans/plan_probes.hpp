#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/plans/plan_evaluator.hpp"
#include "search/plans/plan_tasks.hpp"
#include "search/plans/stage_probe.hpp"

namespace lockstep {

/// The probes of the candidates' stages, simulated in an order by which the most promising are known where
/// time runs short. What it is given must outlive it.
class PlanProbes {
 public:
  /// Is told of each candidate, by its number, as soon as its stages' costs are known.
  /// @return its figures; nothing where it does not fit
  using Estimator = std::function<std::optional<PlanFigures>(std::size_t candidate, const CostsOfStages&)>;

  PlanProbes(const PlanEvaluator& evaluator, PlanTasks& tasks, const std::vector<PlanCandidate>& candidates,
             Estimator estimator)
      : evaluator_{evaluator}, tasks_{tasks}, candidates_{candidates}, estimator_{std::move(estimator)} {}

  /// The relaxed ones, in the order of their closed-form step time.
  void run_relaxed();

  /// The others, in the order of what their relaxed ones promise; where these are not known, not at all. Left
  /// out are those whose candidates are all beaten by what is known, at their least (DominanceFilter).
  /// @param keep so many plans are wanted
  void run_others(std::size_t keep);

  /// Nothing: not all of its stages were simulated.
  [[nodiscard]] std::optional<CostsOfStages> costs_of(const PlanCandidate& candidate) const;

  [[nodiscard]] std::size_t wanted() const { return wanted_; }  ///< done, or left when time was up
  [[nodiscard]] std::size_t done() const { return costs_.size(); }
  [[nodiscard]] std::size_t beaten() const {
    return beaten_.size();
  }  ///< candidates whose stages were left out
  [[nodiscard]] const std::map<std::string, PlanFailure>& failures() const { return failures_; }
  [[nodiscard]] std::size_t failed() const { return failed_.size(); }  ///< stages
  /// Candidates of which nothing is known, for a stage failed.
  [[nodiscard]] std::size_t unknown_for_failures() const;

 private:
  struct Stage {
    StageProbe probe;
    std::string key;
    double promise = 0;                   ///< s: the least of all its candidates
    std::vector<std::size_t> candidates;  ///< whose own probe it is
    std::vector<std::size_t> dominance;   ///< their numbers there
  };
  /// Nothing: some are not known.
  [[nodiscard]] std::optional<CostsOfStages> costs_of(const std::vector<StageProbe>& probes) const;

  class Stages;

  /// @return the figures that became known
  std::vector<PlanFigures> run(std::span<const Stage> stages, const std::string& what);
  /// Takes what a stage's task printed, and tells the estimator. @param known is added to
  void take(const Stage& stage, const PlanTaskEnd& end, std::vector<PlanFigures>& known);

  const PlanEvaluator& evaluator_;
  PlanTasks& tasks_;
  const std::vector<PlanCandidate>& candidates_;
  Estimator estimator_;
  std::vector<PlanFigures> known_;
  std::map<std::string, StageCosts> costs_;  // by key
  std::map<std::string, PlanFailure> failures_;
  std::set<std::string> failed_;  // keys
  std::size_t wanted_ = 0;
  std::set<std::size_t> beaten_;  // candidates, by number
};

}  // namespace lockstep
