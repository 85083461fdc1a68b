#include "search/plans/memory_bound.hpp"

#include <algorithm>

#include "search/plans/layer_weights.hpp"
#include "search/plans/plan_estimate.hpp"

namespace lockstep {
namespace {

/// Bytes that a rank keeps for a parameter that so many replicas share.
double bytes_of_parameter(const PlanCandidate& candidate, const PlanProblem& problem, double sharers) {
  const TransformerPlanSpec& plan = candidate.plan;
  if (plan.offload != Offload::None) {
    return 0;
  }
  const auto share = [&](Sharding from) { return plan.sharding >= from ? 1 / sharers : 1; };
  const bool mixed = is_mixed(problem.types.precision), is_pure = problem.types.is_pure();
  const double parameter = mixed ? 2 : 4;
  if (problem.model.lora) {  // adapters are next to nothing beside what is frozen
    return parameter * share(Sharding::Zero3);
  }
  const bool is_wide = !is_pure && (plan.fp32_gradients || plan.is_fsdp());
  const double gradient = is_wide ? 4 : parameter;
  const double moments = 2 * size_of(problem.types.optimizer()).in_base_units();
  const double states = moments + (mixed && !is_pure ? 4 : 0);
  const bool is_master = plan.is_fsdp() && mixed && !is_pure;  // one of the states
  const bool keeps_gathered = plan.sharding == Sharding::Zero3 && !plan.reshard_after_forward &&
                              sharers > 1 && problem.types.precision != Precision::FP8;
  return states * share(Sharding::Zero1) + gradient * share(Sharding::Zero2) +
         (is_master ? 0 : parameter * share(Sharding::Zero3)) + (keeps_gathered ? parameter : 0);
}

/// Bytes that a layer without recomputation keeps of a token at least, before tensor-parallel ranks share it.
/// These are queries, keys, values and context in 16 bits, and what the last feed-forward GEMM reads. Latent
/// attention and experts do not count.
double kept_of_token(const PlanProblem& problem) {
  const TransformerSpec& model = problem.model;
  const auto queries = static_cast<double>(model.heads * model.size_of_head());
  const auto keys = static_cast<double>(model.key_value_heads() * model.size_of_head());
  const double attention = model.latent_attention ? 0 : 2 * (2 * queries + 2 * keys);
  const double element = problem.types.precision == Precision::FP8 ? 1 : 2;
  return attention + (model.experts ? 0 : element * static_cast<double>(model.feed_forward_width()));
}

}  // namespace

Bytes memory_bound(const PlanCandidate& candidate, const PlanProblem& problem, Bytes of_layer) {
  const TransformerPlanSpec& plan = candidate.plan;
  const TransformerSpec& model = problem.model;
  const LayerWeights of = layer_weights(model);
  const int parts = plan.pipeline * plan.chunks;
  const std::int64_t of_smallest = model.layers / parts * plan.chunks;
  const auto layers = static_cast<double>(of_smallest);
  const double expert_ranks = plan.expert * plan.expert_tensor;
  const double sharers = plan.shard_group.value_or(replicas_of(candidate));
  const double expert_sharers = std::max(1.0, plan.tensor * sharers / expert_ranks);
  const auto dense_layers = static_cast<double>(model.experts ? model.experts->dense_layers : 0);
  const double expert_layers = std::max(0.0, layers - dense_layers);
  const auto words = static_cast<double>(model.vocabulary * model.hidden);
  const double ends = plan.pipeline == 1 && !model.tied ? 2 * words : words;  // embedding, head
  const double states =
      (layers * of.dense + ends) / plan.tensor * bytes_of_parameter(candidate, problem, sharers) +
      expert_layers * of.expert * of.experts / expert_ranks *
          bytes_of_parameter(candidate, problem, expert_sharers);
  const double tokens = static_cast<double>(candidate.micro_batch * model.sequence) / plan.context;
  const double row = tokens * static_cast<double>(model.hidden);
  const double input = 2 * row / (plan.sequence_parallel ? plan.tensor : 1);
  const double all = std::max(input, of_layer.in_base_units());
  double kept = input;
  if (plan.recompute < Recompute::Full) {
    kept = std::max(input, tokens * kept_of_token(problem) / plan.tensor);
  }
  if (plan.recompute == Recompute::None) {
    kept = std::max(kept, all);
  }
  const double flying = plan.recompute_last_stage ? in_flight(candidate, 0) : 1;
  return Bytes{states + flying * layers * kept + std::max(0.0, all - kept)};
}

}  // namespace lockstep
