#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/schedule/schedule_report.hpp"

#include "calibration/band.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json band_json(const Band& band) {
  return {{"faster", band.faster}, {"slower", band.slower}};
}

Json parts_json(const StepParts& parts) {
  Json json;
  for (const auto& [part, name] : names_of(StepPart{})) {
    json[name] = parts[static_cast<std::size_t>(part)];
  }
  return json;
}

Json figures_json(const StepFigures& figures) {
  Json json{{"step_time_s", figures.step},
            {"step_time_band", band_json(around(figures.band))},
            {"model_flops", figures.flops},
            {"ranks", figures.ranks},
            {"samples", figures.samples},
            {"gpu_busy", figures.busy},
            {"bound_by", name_of(figures.bound_by())},
            {"parts_along", figures.along_path ? "critical path" : "parts of a mean rank"},
            {"parts_s", parts_json(figures.parts)}};
  if (figures.tokens) json["tokens"] = *figures.tokens;
  if (figures.parameters) json["parameters"] = *figures.parameters;
  if (figures.memory) {
    json["memory"] = {{"bytes", figures.memory->used.in_base_units()},
                      {"capacity", figures.memory->capacity.in_base_units()}};
  }
  return json;
}

Json phase_json(const PredictedPhase& phase) {
  Json json{{"name", phase.name},
            {"from", phase.from},
            {"until", phase.until},
            {"steps", phase.steps},
            {"seconds", phase.time.seconds()}};
  json["alike_phase"] = phase.alike + 1;
  for (const KeptWidth& width : phase.widths) {
    const Json kept{{"share", width.asked}, {"full", width.full}, {"kept", width.kept}};
    (width.table ? json["tables"][fmt::format("{}", *width.table)] : json["keep"][name_of(width.group)]) =
        kept;
  }
  if (phase.unrounded) json["unrounded_step_time_s"] = *phase.unrounded;
  if (!phase.frozen.empty()) json["frozen"] = phase.frozen;
  if (phase.sparsity) {
    json["sparsity"] = {{"kind", name_of(phase.sparsity->kind)}, {"backward", phase.sparsity->backward}};
  }
  if (phase.mask) json["zeros_without_structure"] = phase.mask->zeros;
  if (phase.quality) json["quality_as_given"] = *phase.quality;
  json.update(figures_json(phase.figures));
  for (const Loss& loss : phase.losses) {
    json["beyond_flops_s"][name_of(loss.part)] = loss.seconds;
  }
  return json;
}

Json transition_json(const PredictedTransition& transition, const BreakEven& pays) {
  const TransitionWork& work = transition.work;
  Json json{{"before_phase", pays.phase + 1},
            {"seconds", transition.seconds},
            {"scored_bytes", work.scored},
            {"all_gathered_bytes", work.shared},
            {"gathered_bytes", work.gathered},
            {"filled_bytes", work.filled},
            {"broadcast_bytes", work.broadcast},
            {"checkpoint_s", transition.waits.files.in_base_units()},
            {"recompile_s", transition.waits.recompile.in_base_units()},
            {"recompile_is_guessed", transition.guessed_recompile}};
  for (const TableWork& of_rank : work.tables) {
    json["tables_by_rank"].push_back({{"scored_bytes", of_rank.scored},
                                      {"gathered_bytes", of_rank.gathered},
                                      {"filled_bytes", of_rank.filled}});
  }
  for (const MovedTable& table : work.moved) {
    json["moved_tables"].push_back(
        {{"table", table.table}, {"from", table.from}, {"to", table.to}, {"bytes", table.bytes}});
  }
  if (pays.steps) {
    json["break_even_steps"] = *pays.steps;
    json["phase_is_too_short"] = pays.is_too_short;
  }
  return json;
}

Json times_json(const CampaignTimes& times) {
  return {{"expected_s", times.expected},     {"goodput", times.goodput()},
          {"checkpoints", times.checkpoints}, {"in_checkpoints_s", times.in_checkpoints},
          {"failures", times.failures},       {"lost_s", times.lost}};
}

Json campaign_json(const CampaignPrediction& campaign) {
  Json json{{"schedule", times_json(campaign.times)},
            {"dense", times_json(campaign.dense)},
            {"checkpoint_interval_s", campaign.task.interval},
            {"recurring_s", campaign.recurring},
            {"drawn",
             {{"mean_s", campaign.drawn.mean},
              {"standard_error_s", campaign.drawn.error},
              {"p5_s", campaign.drawn.p5},
              {"p95_s", campaign.drawn.p95}}}};
  if (campaign.task.rate > 0) {
    json["young_interval_s"] = young_interval(campaign.task.write, campaign.task.rate);
    json["daly_interval_s"] = daly_interval(campaign.task.write, campaign.task.rate);
  }
  return json;
}

/// Figures that a sweep's table takes from any point: means over the whole schedule.
void add_means(Json& json, const SchedulePrediction& prediction) {
  double steps = 0, samples = 0, tokens = 0, memory = 0;
  for (const PredictedPhase& phase : prediction.phases) {
    steps += phase.steps;
    samples += phase.steps * phase.figures.samples;
    tokens += phase.steps * phase.figures.tokens.value_or(0);
    memory = std::max(memory, phase.figures.memory ? phase.figures.memory->used.in_base_units() : 0);
  }
  const double seconds = prediction.totals.seconds;
  json["step_time_s"] = seconds / steps;
  json["step_time_band"] = band_json(around(prediction.full.band));
  json["ranks"] = prediction.full.ranks;
  json["samples_per_s"] = samples / seconds;
  if (prediction.full.tokens) json["tokens_per_s"] = tokens / seconds;
  if (memory > 0) json["memory"] = {{"bytes", memory}};
  if (prediction.cost) {
    const bool has_tokens = prediction.full.tokens.has_value();
    json[has_tokens ? "cost_per_million_tokens" : "cost_per_million_samples"] =
        *prediction.cost * 1e6 / (has_tokens ? tokens : samples);
  }
  json["bottleneck"] =
      fmt::format("saves {:.2f} % of the time with {:.2f} % of the FLOPs",
                  100 * prediction.totals.time_saved(), 100 * prediction.totals.flops_saved());
}

void add_totals(Json& json, const SchedulePrediction& prediction) {
  const ScheduleTotals& totals = prediction.totals;
  json["total_s"] = totals.seconds;
  json["phases_s"] = totals.in_phases;
  json["transitions_s"] = totals.in_transitions;
  json["dense_s"] = totals.dense_seconds;
  json["time_saved"] = totals.time_saved();
  json["time_saved_band"] = prediction.time_saved_band;
  json["flops_saved"] = totals.flops_saved();
  json["amdahl_bound"] = prediction.amdahl;
  if (prediction.saved_6nd) json["saved_6nd"] = *prediction.saved_6nd;
  json["lost"] = parts_json(prediction.lost);
  json["lost"]["transitions"] = prediction.lost_to_transitions;
  json["lost"]["first steps of phases"] = prediction.lost_to_warm_up;
  json["gpu_hours"] = prediction.gpu_hours;
  json["dense_gpu_hours"] = prediction.dense_gpu_hours;
  if (prediction.cost) {
    json["cost"] = *prediction.cost;
    json["dense_cost"] = *prediction.dense_cost;
  }
  if (prediction.energy) {
    json["energy_is_guessed"] = prediction.guessed_power.has_value();
    json["energy_j"] = *prediction.energy;
    json["dense_energy_j"] = *prediction.dense_energy;
  }
}

}  // namespace

std::string schedule_json(const SchedulePrediction& prediction, const OtherTraining* other) {
  Json json{{"name", prediction.name}, {prediction.length.unit(), prediction.length.amount()}};
  add_means(json, prediction);
  add_totals(json, prediction);
  if (other != nullptr) {
    json["against"] = {{"name", other->name}, {"total_s", other->seconds}, {"gpu_hours", other->gpu_hours}};
  }
  json["full"] = figures_json(prediction.full);
  for (const PredictedPhase& phase : prediction.phases) {
    json["phases"].push_back(phase_json(phase));
  }
  for (std::size_t i = 0; i < prediction.transitions.size(); ++i) {
    json["transitions"].push_back(
        transition_json(prediction.transitions[i], prediction.totals.transitions[i]));
  }
  if (prediction.campaign) {
    json["campaign"] = campaign_json(*prediction.campaign);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
