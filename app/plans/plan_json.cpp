#include <nlohmann/json.hpp>
#include <utility>

#include "app/plans/plan_text.hpp"
#include "base/parameters.hpp"
#include "calibration/band.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json candidate_json(const PlanEvaluator& evaluator, const PlanCandidate& candidate) {
  const TransformerPlanSpec& plan = candidate.plan;
  return {{"gpus", candidate.gpus},
          {"tensor", plan.tensor},
          {"data", candidate.data},
          {"pipeline", plan.pipeline},
          {"context", plan.context},
          {"expert", plan.expert},
          {"micro_batch", candidate.micro_batch},
          {"micro_batches", candidate.micro_batches},
          {"sequence_parallel", plan.sequence_parallel},
          {"tensor_overlap", plan.tensor_overlap},
          {"schedule", name_of(plan.schedule)},
          {"chunks", plan.chunks},
          {"stage_layers", plan.stage_layers},
          {"sharding", name_of(plan.sharding)},
          {"reshard_after_forward", plan.reshard_after_forward},
          {"recompute", name_of(plan.recompute)},
          {"offload", name_of(plan.offload)},
          {"scenario", plan_text(evaluator, candidate)}};
}

Json found_json(const PlanEvaluator& evaluator, const FoundPlan& found) {
  Json json{{"plan", candidate_json(evaluator, found.candidate)}};
  if (found.is_estimated()) {
    json["estimated_step_s"] = found.estimate.step.in_base_units();
    json["estimated_memory_bytes"] = found.estimate.memory.in_base_units();
  }
  if (found.evaluation) {
    json["step_s"] = found.evaluation->step;
    const Band band = calibrated(found.evaluation->band);
    json["band"] = {{"faster", band.faster}, {"slower", band.slower}};
    json["memory_bytes"] = found.evaluation->memory.total().in_base_units();
    json["normalised_memory_bytes"] = found.evaluation->normalised_memory;
    for (std::size_t use = 0; use < kMemoryUses; ++use) {
      json["memory"][std::string{name_of(static_cast<MemoryUse>(use))}] = found.evaluation->memory.bytes[use];
    }
    json["host_memory_share"] = found.evaluation->host_share;
  }
  const Figures figures = figures_of_plan(evaluator, found);
  for (const auto& [key, value] : {std::pair{"samples_per_s", figures.samples_per_s},
                                   {"tokens_per_s", figures.tokens_per_s},
                                   {"mfu", figures.mfu},
                                   {"cost_per_million_tokens", figures.cost_per_million}}) {
    if (value) {
      json[key] = *value;
    }
  }
  return json;
}

Json list_json(const PlanEvaluator& evaluator, const std::vector<FoundPlan>& plans) {
  Json list = Json::array();
  for (const FoundPlan& plan : plans) {
    list.push_back(found_json(evaluator, plan));
  }
  return list;
}

}  // namespace

std::string plans_json(const PlanEvaluator& evaluator, const PlanSearchResult& result, std::size_t keep) {
  Json json{{"name", evaluator.scenario().name},
            {"combinations", result.enumeration.combinations},
            {"candidates", result.enumeration.candidates.size()}};
  json["pruned"] = Json::object();
  for (const auto& [why, count] : result.enumeration.pruned) {
    json["pruned"][reason_of(why)] = count;
  }
  json["stages"] = {
      {"to_simulate", result.probes}, {"simulated", result.probes_run}, {"failed", result.failed_probes}};
  json["estimated_to_fit"] = result.estimated.size();
  json["not_estimated_for_failures"] = result.not_estimated;
  json["plans_failed"] = Json::array();
  for (const PlanCandidate& candidate : result.failed) {
    json["plans_failed"].push_back(candidate_json(evaluator, candidate));
  }
  json["failures"] = Json::array();
  for (const auto& [message, failure] : result.failures) {
    json["failures"].push_back({{"message", message}, {"first", failure.first}, {"count", failure.count}});
  }
  json["complete"] = !result.has_gaps() && !result.out_of_time && result.interruption == 0;
  json["out_of_time"] = result.out_of_time;
  json["interrupted"] = result.interruption != 0;
  if (!result.plans.empty()) {
    const auto errors = result.estimate_errors();
    json["estimate_errors"] = {{"mean", errors.mean}, {"least", errors.least}, {"most", errors.most}};
  }
  if (result.own && result.own->fits()) {
    json["own_plan_step_s"] = result.own->step;
  }
  json["best"] = list_json(evaluator, best_plans(result, keep));
  json["pareto_front"] = list_json(evaluator, result.front);
  json["simulated"] = list_json(evaluator, result.plans);
  json["too_big"] = list_json(evaluator, result.too_big);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
