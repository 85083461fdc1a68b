#pragma once

/// @file
/// One scenario under many parallel plans: what a plan's stage costs, and what the whole step takes.

#include <array>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "scenario/prediction.hpp"
#include "search/plans/closed_form_step.hpp"
#include "search/plans/plan_candidate.hpp"
#include "search/plans/plan_estimate.hpp"
#include "search/plans/plan_space.hpp"
#include "search/plans/stage_messages.hpp"
#include "search/plans/stage_probe.hpp"
#include "search/plans/stage_simulator.hpp"

namespace lockstep {

/// The simulation's result for a plan.
struct PlanEvaluation {
  double step = 0;         ///< s; 0: not simulated, because it does not fit
  double band = 0;         ///< StepBand::relative of the step
  MemoryBreakdown memory;  ///< of the fullest GPU, with context and fragmentation
  double normalised_memory =
      0;                  ///< that share of the smallest GPU's memory, bytes: where GPUs are alike its own
  double capacity = 0;    ///< of that GPU, bytes; 0: not checked
  double host_share = 0;  ///< of the fullest host's memory; 0: nothing is kept there
  double at_peak = 0;     ///< s, of the step's matrix products at the GPUs' peak; for figures_of()

  [[nodiscard]] bool fits() const {
    return (capacity == 0 || memory.total().in_base_units() <= capacity) && host_share <= 1;
  }
};

/// Text that a child process prints, and its parent reads.
[[nodiscard]] std::string printed(const PlanEvaluation& evaluation);
[[nodiscard]] PlanEvaluation evaluation_in(const std::string& printed);
[[nodiscard]] std::string printed(const ProbeAnswers& answers);
[[nodiscard]] ProbeAnswers probe_answers_in(std::istream& printed);  ///< the next of them

class PlanEvaluator {
 public:
  /// @param gpus the numbers of GPUs to plan for; empty: those of the scenario
  /// @throws InputError for a scenario that is not one, or trains no transformer by any plan;
  ///   std::invalid_argument for more GPUs than the cluster has
  PlanEvaluator(YamlDocument document, ConfigPath configs, std::vector<int> gpus);
  PlanEvaluator(const PlanEvaluator&) = delete;
  PlanEvaluator& operator=(const PlanEvaluator&) = delete;

  [[nodiscard]] const PlanProblem& problem() const { return problem_; }
  [[nodiscard]] const ScenarioSpec& scenario() const { return scenario_; }
  [[nodiscard]] const ConfigPath& configs() const { return configs_; }

  /// Builds what all plans share. Before the others below. @throws InputError as build()
  void prepare(const PlanCandidate& any);

  /// Groups of the plan that leave their NVLink domain: see straddling_groups().
  [[nodiscard]] std::vector<std::string> straddling(const PlanCandidate& candidate) const;

  /// The scenario's `parallelism` with this plan: what a search prints of it.
  [[nodiscard]] ParallelismSpec parallelism_of(const PlanCandidate& candidate) const;
  /// The scenario with this plan: `lockstep run` takes it.
  [[nodiscard]] YamlDocument document_of(const PlanCandidate& candidate) const;
  [[nodiscard]] std::string effective(const PlanCandidate& candidate) const;

  [[nodiscard]] StageSimulator stages() const;

  [[nodiscard]] EstimateInput estimate_input(const PlanCandidate& candidate) const;

  [[nodiscard]] MachineRates rates() const;

  /// Memory with context and fragmentation.
  [[nodiscard]] Bytes whole_memory(Bytes allocated) const;
  [[nodiscard]] Bytes capacity() const;  ///< of the smallest GPU; infinite where the scenario does not check
  [[nodiscard]] Bytes most_capacity() const;  ///< likewise of the largest
  /// The largest share of its smallest GPU's memory that a stage needs, of the memory of the smallest GPU of
  /// all. Includes context and fragmentation. Plans whose fullest GPUs are of several kinds compare by it.
  /// @param of_stages allocated, by stage (memory_of_stages())
  [[nodiscard]] Bytes normalised_memory(const PlanCandidate& candidate,
                                        const std::vector<Bytes>& of_stages) const;
  /// The same as a share: more than 1 does not fit; 0 where the scenario does not check.
  [[nodiscard]] double fullness(const PlanCandidate& candidate, const std::vector<Bytes>& of_stages) const;

  /// Whether evaluate() may run but once in a process: flows are SimGrid's, whose clock does not restart.
  [[nodiscard]] bool needs_own_process() const;

  /// The plan, or the scenario as it is (std::nullopt), simulated, without SimGrid where it is not needed.
  /// @throws InputError, StallError
  [[nodiscard]] PlanEvaluation evaluate(const std::optional<PlanCandidate>& candidate) const;

 private:
  YamlDocument document_;
  ConfigPath configs_;
  ScenarioSpec scenario_;
  PlanProblem problem_;
  std::optional<ResolvedScenario> resolved_;
  std::optional<StageMessages> messages_;  // on the setting's fabric
};

}  // namespace lockstep
