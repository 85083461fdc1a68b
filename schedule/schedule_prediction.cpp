#include "schedule/schedule_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/effective.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/scenario_file.hpp"
#include "schedule/gpu_power.hpp"
#include "schedule/phase_cache.hpp"
#include "schedule/quality_curve.hpp"
#include "schedule/table_transition.hpp"

namespace lockstep {
namespace {

constexpr double kHour = 3600;
constexpr Seconds kGuessedRecompile{40};

/// Steps of a phase that trains @p share of a training of @p length.
double amount_per_step(const TrainingLengthSpec& length, const StepFigures& figures) {
  return length.steps ? 1 : length.samples ? figures.samples : figures.tokens.value_or(0);
}

bool has_shapes_compiled(const WorkloadSpec& workload) {
  return workload.model->framework.compile != Compile::None ||
         (workload.model->cnn && workload.model->cnn->cudnn_benchmark);
}

int nodes_used(const ResolvedScenario& resolved) {
  std::set<int> nodes;
  for (const RankAssignment& rank : resolved.job.ranks) {
    nodes.insert(resolved.fabric.vertices()[rank.gpu].node);
  }
  return static_cast<int>(nodes.size());
}

/// Bytes of optimizer states that the fullest rank has more: those of parts that are trained again begin as
/// zeros.
double states_that_begin(const Job& before, const Job& after) {
  const auto most = [](const Job& job) {
    double bytes = 0;
    for (const MemoryBreakdown& memory : job.memory) bytes = std::max(bytes, memory[MemoryUse::Optimizer]);
    return bytes;
  };
  return std::max(0.0, most(after) - most(before));
}

/// Predicts a schedule phase by phase.
class SchedulePredictor {
 public:
  SchedulePredictor(const ScheduledScenario& scheduled, const ConfigPath& configs, const Timelines& timelines)
      : scheduled_{scheduled},
        spec_{scheduled.scenario.schedule.value_or(ScheduleSpec{})},
        timelines_{timelines},
        configs_{configs},
        cache_{configs, spec_.seeds} {}

  SchedulePrediction predict() {
    result_.name = scheduled_.scenario.name;
    result_.length = scheduled_.length;
    full_ = &simulate(scheduled_.full);
    result_.full = full_->figures;
    result_.nodes = nodes_used(full_->resolved);
    for (const PhaseScenario& phase : scheduled_.phases) {
      add_phase(phase);
    }
    add_dense();
    for (std::size_t i = 0; i + 1 < simulated_.size(); ++i) {
      add_transition(i);
    }
    add_totals();
    return std::move(result_);
  }

 private:
  const SimulatedPhase& simulate(const PhaseScenario& phase) { return cache_.of(phase, timelines_); }

  /// Gives @p phase the full model's plan of tables, unless tables are placed anew.
  PhaseScenario placed(const PhaseScenario& phase) const {
    const auto& dlrm = full_->resolved.scenario.workload->model->dlrm;
    const bool tables_change = std::ranges::any_of(phase.widths, [](const KeptWidth& width) {
      return width.group == LayerGroup::EmbeddingDim || width.group == LayerGroup::EmbeddingRows ||
             width.group == LayerGroup::Interaction;
    });
    if (!dlrm || !tables_change || spec_.transition.replan ||
        scheduled_.scenario.parallelism.embedding.plan) {
      return phase;
    }
    PhaseScenario fixed = phase;
    const auto count = build(phase.document, configs_).scenario.workload->model->dlrm->all_tables().size();
    fixed.document = with_plan(phase.document, plan_of_tables(full_->resolved), count);
    return fixed;
  }

  /// A step at the widths that were asked for; std::nullopt where they are what the phase has, or do not run.
  std::optional<double> unrounded_step(const PhaseScenario& phase) {
    if (!phase.unrounded) {
      return std::nullopt;
    }
    PhaseScenario asked = phase;
    asked.document = *phase.unrounded;
    asked.meaning = meaning_of(asked.document, configs_);
    try {
      return cache_.of(placed(asked), silent_).figures.step;
    } catch (const InputError&) {
      return std::nullopt;
    } catch (const OutOfMemoryError&) {
      return std::nullopt;
    }
  }

  void add_phase(const PhaseScenario& phase) {
    const PhaseScenario with_tables = placed(phase);
    const SimulatedPhase& simulated = simulate(with_tables);
    const double per_step = amount_per_step(scheduled_.length, simulated.figures);
    if (!(per_step > 0)) {
      throw std::invalid_argument{
          fmt::format("schedule: tokens: the samples of '{}' have none: say steps: or samples:",
                      full_->resolved.scenario.workload->model->name)};
    }
    PredictedPhase& predicted = result_.phases.emplace_back();
    predicted.name = phase.name;
    predicted.from = phase.from;
    predicted.until = phase.until;
    predicted.widths = phase.widths;
    predicted.mask = phase.mask;
    predicted.sparsity = phase.sparsity;
    predicted.frozen = phase.frozen;
    predicted.figures = simulated.figures;
    predicted.unrounded = unrounded_step(phase);
    predicted.alike =
        static_cast<std::size_t>(std::ranges::find(simulated_, &simulated) - simulated_.begin());
    if (predicted.alike == simulated_.size()) {
      predicted.scenario = effective_text<ScenarioSpec>(with_tables.document, configs_);
    }
    const double amount = scheduled_.length.amount();
    predicted.steps =
        std::round(phase.until * amount / per_step) - std::round(phase.from * amount / per_step);
    if (predicted.steps < 1) {
      throw InputError{phase.at, fmt::format("phase '{}': has not one whole step", phase.name)};
    }
    predicted.time = {predicted.steps, simulated.figures.step, simulated.figures.flops, 0};
    if (!simulated_.empty() && simulated_.back() != &simulated) {
      predicted.time.extra =
          warm_up_seconds(spec_.transition.warm_up, predicted.steps, simulated.figures.step);
    }
    const double ratio = result_.full.flops > 0 ? simulated.figures.flops / result_.full.flops : 1;
    predicted.losses = losses(simulated.figures.parts, result_.full.parts, ratio);
    simulated_.push_back(&simulated);
    structures_.push_back(phase.structures);
  }

  void add_dense() {
    const TrainingLengthSpec& length = spec_.dense.value_or(scheduled_.length);
    result_.dense_is_longer = spec_.dense.has_value();
    const double per_step = amount_per_step(length, result_.full);
    if (!(per_step > 0)) {
      throw std::invalid_argument{"schedule: dense: tokens: the model's samples have none"};
    }
    result_.dense = {std::round(length.amount() / per_step), result_.full.step, result_.full.flops, 0};
  }

  void add_transition(std::size_t number) {
    const SimulatedPhase &before = *simulated_[number], &after = *simulated_[number + 1];
    const auto [known, is_new] = transitions_.try_emplace({&before, &after});
    if (is_new && &before != &after) {
      known->second = transition(number);
    }
    result_.transitions.push_back(known->second);
  }

  /// Predicts the transition from phase @p number to the next.
  PredictedTransition transition(std::size_t number) {
    const SimulatedPhase &before = *simulated_[number], &after = *simulated_[number + 1];
    const auto side = [](const SimulatedPhase& phase) {
      return TransitionSide{&*phase.resolved.scenario.workload, &phase.resolved.scenario.parallelism,
                            static_cast<int>(phase.resolved.job.ranks.size())};
    };
    PredictedTransition between;
    between.work = transition_work(side(before), side(after), spec_.transition,
                                   std::max(structures_[number], structures_[number + 1]));
    if (between.work.is_nothing()) {
      between.work.filled = states_that_begin(before.resolved.job, after.resolved.job);
    }
    if (after.resolved.scenario.workload->model->dlrm) {
      add_tables(before.resolved, after.resolved, spec_.transition, between.work);
    }
    if (const auto bandwidth = spec_.transition.checkpoint.bandwidth) {
      between.waits.files = Bytes{between.work.written + between.work.read} / *bandwidth;
    }
    between.guessed_recompile =
        !spec_.transition.recompile && has_shapes_compiled(*after.resolved.scenario.workload);
    between.waits.recompile =
        spec_.transition.recompile.value_or(between.guessed_recompile ? kGuessedRecompile : Seconds{0});
    if (!between.work.is_nothing() || between.waits.recompile > Seconds{0}) {
      between.seconds = simulated_seconds(
          before, after, between,
          fmt::format("{} to {}", result_.phases[number].name, result_.phases[number + 1].name));
    }
    return between;
  }

  /// Simulates the transition on the ranks of the larger job; returns s.
  double simulated_seconds(const SimulatedPhase& before, const SimulatedPhase& after,
                           const PredictedTransition& transition, const std::string& name) {
    const bool is_before = before.resolved.job.ranks.size() > after.resolved.job.ranks.size();
    ResolvedScenario between = is_before ? before.resolved : after.resolved;
    const auto replicas = replica_groups(before.resolved.job);
    between.job =
        transition_job(transition.work, transition.waits, between.job, between.host.at_speed(), replicas);
    between.scenario.steps = 1;
    check(between.job);
    return predict_with(timelines_, name, between).makespan().in_base_units();
  }

  void add_totals() {
    std::vector<PhaseTime> times;
    std::vector<double> seconds;
    for (const PredictedPhase& phase : result_.phases) times.push_back(phase.time);
    for (const PredictedTransition& transition : result_.transitions) seconds.push_back(transition.seconds);
    result_.totals = schedule_totals(times, seconds, result_.dense);
    const double products =
        result_.full.parts[static_cast<std::size_t>(StepPart::Products)] / result_.full.step;
    result_.amdahl = amdahl_bound(times, result_.dense, products);
    result_.time_saved_band = band_of_saving();
    for (const PredictedPhase& phase : result_.phases) {
      for (const Loss& loss : phase.losses) {
        result_.lost[static_cast<std::size_t>(loss.part)] +=
            phase.steps * loss.seconds / result_.totals.dense_seconds;
      }
      result_.lost_to_warm_up += phase.time.extra / result_.totals.dense_seconds;
    }
    result_.lost_to_transitions = result_.totals.in_transitions / result_.totals.dense_seconds;
    add_resources();
    add_6nd();
  }

  /// Errors of a family of models are common to phase and full step: what both rest on alike cancels.
  ///
  ///   dS = (T / T_d) sum over families of e_f (D_f / T_d - T_f / T), added as squares
  [[nodiscard]] double band_of_saving() const {
    const double ratio = result_.totals.seconds / result_.totals.dense_seconds;
    double squares = 0;
    for (const FamilyBand& family : result_.full.band.families) {
      if (!(family.seconds > 0)) {
        continue;
      }
      const double error = family.half_width / family.seconds;
      double in_phases = 0;
      for (const PredictedPhase& phase : result_.phases) {
        in_phases += phase.time.seconds() * share_of(phase.figures.band, family.family);
      }
      const double shift =
          error * (family.seconds / result_.full.band.seconds - in_phases / result_.totals.seconds);
      squares += shift * shift;
    }
    return ratio * std::sqrt(squares);
  }

  static double share_of(const StepBand& band, const std::string& family) {
    const auto found = std::ranges::find(band.families, family, &FamilyBand::family);
    return found == band.families.end() || !(band.seconds > 0) ? 0 : found->seconds / band.seconds;
  }

  /// The schedule's, or by the TDP of the GPU.
  std::optional<PowerSpec> power_of_gpu() {
    if (!spec_.power) {
      if (const auto sheet = known_power(full_->resolved.gpu_models.front().name, configs_)) {
        result_.guessed_power = sheet->power();
      }
    }
    return spec_.power ? spec_.power : result_.guessed_power;
  }

  void add_resources() {
    const auto gpu_seconds_of = [](const StepFigures& figures, double seconds) {
      return static_cast<double>(figures.ranks) * seconds;
    };
    double gpu_seconds = 0, energy = 0;
    const std::optional<PowerSpec> known = power_of_gpu();
    const PowerSpec power = known.value_or(PowerSpec{});
    const auto joules = [&](const StepFigures& figures, double seconds) {
      return gpu_seconds_of(figures, seconds) *
             (figures.busy * power.busy.watts + (1 - figures.busy) * power.idle.watts);
    };
    for (std::size_t i = 0; i < result_.phases.size(); ++i) {
      const PredictedPhase& phase = result_.phases[i];
      const double before = i > 0 ? result_.transitions[i - 1].seconds : 0;
      gpu_seconds += gpu_seconds_of(phase.figures, phase.time.seconds() + before);
      energy += joules(phase.figures, phase.time.seconds()) +
                gpu_seconds_of(phase.figures, before) * power.idle.watts;
    }
    result_.gpu_hours = gpu_seconds / kHour;
    result_.dense_gpu_hours = gpu_seconds_of(result_.full, result_.dense.seconds()) / kHour;
    if (const auto price = scheduled_.scenario.price_per_gpu_hour) {
      result_.cost = *price * result_.gpu_hours;
      result_.dense_cost = *price * result_.dense_gpu_hours;
    }
    if (known) {
      result_.energy = energy;
      result_.dense_energy = joules(result_.full, result_.dense.seconds());
    }
  }

  /// 6 N D of Kaplan et al. (arXiv 2001.08361), as papers on growth count.
  void add_6nd() {
    if (!result_.full.parameters || !result_.full.tokens) {
      return;
    }
    double sum = 0;
    for (const PredictedPhase& phase : result_.phases) {
      sum += phase.steps * *phase.figures.tokens * *phase.figures.parameters;
    }
    result_.saved_6nd = 1 - sum / (result_.dense.steps * *result_.full.tokens * *result_.full.parameters);
  }

  const ScheduledScenario& scheduled_;
  ScheduleSpec spec_;
  const Timelines& timelines_;
  const Timelines silent_{[](const auto&, const auto&, const auto&) { return TimelineRequest{}; }, [] {}};
  const ConfigPath& configs_;
  PhaseCache cache_;
  const SimulatedPhase* full_ = nullptr;
  std::vector<const SimulatedPhase*> simulated_;  ///< by phase
  std::vector<double> structures_;                ///< likewise
  std::map<std::pair<const SimulatedPhase*, const SimulatedPhase*>, PredictedTransition> transitions_;
  SchedulePrediction result_;
};

void add_quality(const YamlDocument& document, const std::string& name, std::vector<PredictedPhase>& phases) {
  const SourceLocation at = place_of(document.root(), "schedule.quality");
  std::vector<std::string> names;
  for (const PredictedPhase& phase : phases) names.push_back(phase.name);
  const std::vector<std::string> quality = quality_of_phases(file_beside(document, at, name), names, at);
  for (std::size_t i = 0; i < phases.size(); ++i) phases[i].quality = quality[i];
}

}  // namespace

SchedulePrediction predict_schedule(const ScheduledScenario& scheduled, const ConfigPath& configs,
                                    const YamlDocument& document, const Timelines& timelines) {
  const ScenarioSpec& scenario = scheduled.scenario;
  if (scenario.network == ScenarioNetwork::Flows || scenario.engine == ScenarioEngine::S4u) {
    throw std::invalid_argument{
        "a schedule is simulated in one process, where SimGrid's clock runs once: leave 'network: flows' and "
        "'engine: s4u' out"};
  }
  SchedulePrediction prediction = SchedulePredictor{scheduled, configs, timelines}.predict();
  if (scenario.schedule && scenario.schedule->quality) {
    add_quality(document, *scenario.schedule->quality, prediction.phases);
  }
  if (scenario.campaign) {
    const CampaignWork work{prediction.totals.seconds, prediction.totals.dense_seconds, prediction.full.step,
                            prediction.nodes, scenario.vary.seed};
    prediction.campaign = predict_campaign(*scenario.campaign, work, place_of(document.root(), "campaign"));
  }
  return prediction;
}

}  // namespace lockstep
