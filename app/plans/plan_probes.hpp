#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "app/plans/plan_judge.hpp"
#include "app/plans/plan_tasks.hpp"
#include "search/plans/stage_probe.hpp"

namespace lockstep {

/// The probes of the candidates' stages, simulated in an order by which the most promising are known where
/// time runs short. What it is given must outlive it.
class PlanProbes {
 public:
  PlanProbes(const PlanJudge& judge, PlanTasks& tasks, const std::vector<PlanCandidate>& candidates)
      : judge_{judge}, tasks_{tasks}, candidates_{candidates} {}

  /// The relaxed ones, in the order of the outlook.
  void run_relaxed();

  /// The others, in the order of what their relaxed ones promise; where these are not known, not at all.
  void run_others();

  /// Null: not simulated.
  [[nodiscard]] const StageCosts* costs_of(const StageProbe& probe) const;

  [[nodiscard]] std::size_t known() const { return promises_.size(); }
  [[nodiscard]] std::size_t done() const { return costs_.size(); }
  [[nodiscard]] const std::map<std::string, PlanFailure>& failures() const { return failures_; }

 private:
  void add(const StageProbe& probe, double promise, std::vector<StageProbe>& probes);
  void run(std::vector<StageProbe> probes, const std::string& what);

  const PlanJudge& judge_;
  PlanTasks& tasks_;
  const std::vector<PlanCandidate>& candidates_;
  std::map<std::string, double> promises_;   // s, by key: the least of all candidates
  std::map<std::string, StageCosts> costs_;  // by key
  std::map<std::string, PlanFailure> failures_;
};

}  // namespace lockstep
