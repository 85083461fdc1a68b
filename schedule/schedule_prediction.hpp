#pragma once

/// @file
/// A schedule, phase by phase and transition by transition, predicted.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schedule/campaign_prediction.hpp"
#include "schedule/phase_cache.hpp"
#include "schedule/phase_scenarios.hpp"
#include "schedule/schedule_totals.hpp"
#include "schedule/step_figures.hpp"
#include "schedule/transition_program.hpp"

namespace lockstep {

struct PredictedPhase {
  std::string name;
  double from = 0, until = 1;
  double steps = 0;
  std::size_t alike = 0;  ///< the first phase that is the same, by number; its own where it is the first
  std::vector<KeptWidth> widths;
  std::optional<MaskSpec> mask;
  std::optional<SparsitySpec> sparsity;
  std::vector<std::string> frozen;
  StepFigures figures;
  PhaseTime time;
  std::optional<std::string> quality;  ///< the user's word
  std::string scenario;  ///< that `lockstep run` takes, with tables as they are placed; of distinct phases
  std::optional<double> unrounded;  ///< s, a step with the widths that were asked for, where those are others
  std::vector<Loss> losses;         ///< against the full model's step, of one step
};

struct PredictedTransition {
  double seconds = 0;
  TransitionWork work;
  TransitionWaits waits;
  bool guessed_recompile = false;
};

struct SchedulePrediction {
  std::string name;
  TrainingLengthSpec length;
  StepFigures full;              ///< a step of the full model
  PhaseTime dense;               ///< training it alone
  bool dense_is_longer = false;  ///< the user says how long
  std::vector<PredictedPhase> phases;
  std::vector<PredictedTransition> transitions;
  ScheduleTotals totals;
  double amdahl = 0;           ///< most that can be saved where products alone get shorter
  double time_saved_band = 0;  ///< half-width of the 90 % interval of time_saved(), absolute
  /// Shares of the dense training's time: flops_saved() - all of these = time_saved().
  StepParts lost{};
  double lost_to_transitions = 0, lost_to_warm_up = 0;
  double gpu_hours = 0, dense_gpu_hours = 0;
  std::optional<double> cost, dense_cost;      ///< where a price is given
  std::optional<double> energy, dense_energy;  ///< J, of the GPUs, where their power is known
  std::optional<PowerSpec> guessed_power;      ///< by the GPU's TDP, where the schedule gives none
  int nodes = 1;
  std::optional<double> saved_6nd;  ///< of 6 x parameters x tokens, transformers
  std::optional<CampaignPrediction> campaign;
};

/// Predicts each distinct phase once, with SimGrid's model but not its engine, whose clock runs once in a
/// process; the results are those of `lockstep run`, to the last bit.
/// @throws InputError where a phase does not fit the machine, or `network: flows` or `engine: s4u` is asked
/// for
/// @throws OutOfMemoryError, StallError with the phase's name
[[nodiscard]] SchedulePrediction predict_schedule(const ScheduledScenario& scheduled,
                                                  const ConfigPath& configs, const YamlDocument& document,
                                                  const Timelines& timelines);

}  // namespace lockstep
