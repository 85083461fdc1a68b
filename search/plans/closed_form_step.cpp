#include "search/plans/closed_form_step.hpp"

#include <algorithm>

#include "search/plans/layer_weights.hpp"

namespace lockstep {
namespace {

double seconds(double bytes, BytesPerSecond rate) {
  return bytes / rate.in_base_units();
}

}  // namespace

Seconds closed_form_step_time(const PlanCandidate& candidate, const PlanProblem& problem,
                              const MachineRates& rates) {
  const TransformerPlanSpec& plan = candidate.plan;
  const TransformerSpec& model = problem.model;
  const LayerWeights layer = layer_weights(model);
  const double t = plan.tensor, c = plan.context, e = plan.expert, p = plan.pipeline, d = candidate.data;
  const double n = candidate.micro_batches;
  const double tokens = static_cast<double>(candidate.micro_batch * model.sequence) / c;
  const double layers = static_cast<double>(model.layers) / p, passes = n * layers;
  const double row = 2 * tokens * static_cast<double>(model.hidden);  // bytes of all tokens' activations
  const auto rate_of = [&](double nested) {
    return nested > problem.gpus_of_node ? rates.between_nodes : rates.in_node;
  };
  const double of_weight = model.lora ? 4 : 6;  // FLOPs: frozen ones have no gradient
  const double products = of_weight * passes * tokens * (layer.dense + layer.met * layer.expert) / t /
                          rates.products.in_base_units();
  const double bubble = products * (p - 1) / (n * plan.chunks);
  const double tensor = seconds(passes * 4 * row * 2 * (t - 1) / t, rate_of(t));
  const double of_experts = layer.met * row / t;
  const double experts = seconds(passes * 4 * of_experts * (e - 1) / e, rate_of(t * e));
  const double context = seconds(passes * 3 * row * (c - 1) / t, rate_of(t * c));
  const double data =
      model.lora ? 0
                 : seconds(4 * (d - 1) / d * layers * (layer.dense / t + layer.experts * layer.expert / e),
                           rate_of(t * c * d));
  return Seconds{products + bubble + tensor + experts + std::max(0.0, context - products / 3) +
                 std::max(0.0, data - products * 2 / 3)};
}

}  // namespace lockstep
