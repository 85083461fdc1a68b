#include "ops/workload/parallel/router.hpp"

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/sorting.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"
#include "ops/workload/parallel/token_counts.hpp"

namespace lockstep {
namespace {

constexpr DataType kLogits = DataType::FP32;  // what softmax computes in
constexpr DataType kMap = DataType::BOOL;

/// Tokens, experts and what a token chooses.
struct Scores {
  std::int64_t tokens = 0, experts = 0, chosen = 0;

  [[nodiscard]] std::int64_t all() const { return tokens * experts; }
  [[nodiscard]] std::int64_t met() const { return tokens * chosen; }
};

Scores scores_of(const LayerScope& scope) {
  return {.tokens = scope.sizes.rows,
          .experts = scope.model.experts->count,
          .chosen = scope.model.experts->per_token};
}

ShardedLinear gate(const LayerScope& scope) {
  return {.tokens = scope.sizes.rows,
          .in = scope.sizes.hidden,
          .out = scope.model.experts->count,
          .high_precision = true,
          .plain = true};
}

KernelCall small(const char* name, std::int64_t elements, DataType type) {
  return kernels::elementwise(name, elements, type, {});
}

/// `torch.zeros_like(scores).to(type).scatter(dim, indices, values)`: zeros, their copy, the values.
void scatter_in_zeros(const LayerScope& scope, const Scores& scores, std::int64_t values, DataType type) {
  scope.step.op("aten::zeros_like", {kernels::fill(scores.all(), scope.storage())});
  if (type != scope.storage()) {
    scope.step.op("aten::to", {kernels::cast(scores.all(), scope.storage(), type)});
  }
  scope.step.op("aten::scatter", {kernels::copy_on_device(static_cast<double>(scores.all()) * size_of(type)),
                                  small("_scatter_gather_elementwise_kernel", values, type)});
}

/// The same for ones, as a map of yes and no.
void map_of(const LayerScope& scope, const Scores& scores, std::int64_t ones, DataType type) {
  scatter_in_zeros(scope, scores, ones, type);
  scope.step.op("aten::to", {kernels::cast(scores.all(), type, kMap)});
}

KernelCall softmax(std::int64_t rows, std::int64_t columns, Direction direction) {
  return {direction == Direction::Forward ? "softmax_warp_forward" : "softmax_warp_backward", kLogits,
          Softmax{.rows = rows, .columns = columns, .direction = direction}};
}

KernelCall over_tokens(const Scores& scores, DataType type) {
  return kernels::reduce("sum", {.rows = scores.tokens, .columns = scores.experts, .across_rows = true},
                         type);
}

bool has_limits(const LayerScope& scope) {
  return scope.model.experts->are_padded() || scope.model.experts->drops();
}

/// Each expert keeps the tokens that want it most, as many as it has room for; the others' probabilities are
/// 0.
void keep_what_has_room(const LayerScope& scope, const Scores& scores) {
  const auto kept =
      static_cast<std::int64_t>(static_cast<double>(scores.met()) * scope.model.experts->capacity);
  scope.step.op("aten::topk", {kernels::select(scores.experts, scores.tokens, scope.storage())});
  map_of(scope, scores, kept, scope.storage());
  if (scope.model.experts->drops()) {  // of those that were chosen
    scope.step.op("aten::logical_and",
                  {kernels::elementwise("logical_and", scores.all(), kMap, {.reads = 2})});
  }
  scope.step.op("aten::mul", {kernels::mul(scores.all(), scope.storage())});
}

void choose(const LayerScope& scope, const Scores& scores) {
  if (scope.model.experts->fused_router) {
    scope.step.op("FusedTopkScoreFunction",
                  {kernels::elementwise("fused_topk_with_score_function_forward_kernel", scores.all(),
                                        scope.storage(), {.reads = 1, .writes = 1.5, .flops = 10})});
  } else {
    scope.step.program().begin("aten::topk");
    for (const KernelCall& kernel :
         kernels::top_k(scores.tokens, scores.experts, scores.chosen, scope.storage())) {
      scope.step.launch(kernel);
    }
    scope.step.program().end();
    scope.step.op("aten::softmax", {softmax(scores.tokens, scores.chosen, Direction::Forward)});
    scope.step.op("aten::to", {kernels::cast(scores.met(), kLogits, scope.storage())});
    scatter_in_zeros(scope, scores, scores.met(), scope.storage());
    map_of(scope, scores, scores.met(), DataType::INT32);
  }
  if (has_limits(scope)) {
    keep_what_has_room(scope, scores);
  }
}

/// Ranks that have pieces of the same samples.
int sharers(const LayerScope& scope) {
  return scope.plan.spec.tensor * scope.plan.spec.context;
}

void loss_forward(const LayerScope& scope, const Scores& scores) {
  const bool fused = scope.model.experts->fused_router;
  if (fused) {
    scope.step.op("FusedComputeScoresForMoEAuxLoss",
                  {kernels::elementwise("fused_score_for_moe_aux_loss_forward_kernel", scores.all(), kLogits,
                                        {.reads = 1, .writes = 2.25, .flops = 10})});
  } else {
    scope.step.op("aten::softmax", {softmax(scores.tokens, scores.experts, Direction::Forward)});
  }
  scope.step.op("aten::sum", {over_tokens(scores, kMap)});  // of the map: tokens of each expert
  communicate_counts(scope, CollectiveKind::AllReduce, "tp_cp", sharers(scope), scores.experts);
  if (fused) {
    scope.step.op("FusedAuxLoss", {over_tokens(scores, kLogits)});
  } else {
    scope.step.op("aten::sum", {over_tokens(scores, kLogits)});
    scope.step.op("aten::mul", {kernels::mul(scores.experts, kLogits)});
    scope.step.op("aten::sum", {kernels::reduce("sum", {.rows = 1, .columns = scores.experts}, kLogits)});
    scope.step.op("aten::mul", {kernels::scale(1, kLogits)});
  }
  scope.step.op("aten::div", {kernels::scale(1, kLogits)});  // for the log (save_to_aux_losses_tracker)
  scope.step.op("aten::add_", {kernels::add(1, kLogits)});
}

void loss_backward(const LayerScope& scope, const Scores& scores) {
  scope.step.op("MoEAuxLossAutoScalerBackward", {kernels::fill(1, kLogits), kernels::scale(1, kLogits)});
  if (scope.model.experts->fused_router) {
    scope.step.op("FusedAuxLossBackward", {kernels::fill(scores.all(), kLogits)});
    scope.step.op("FusedComputeScoresForMoEAuxLossBackward",
                  {kernels::elementwise("fused_score_for_moe_aux_loss_backward_kernel", scores.all(), kLogits,
                                        {.reads = 2, .writes = 1, .flops = 6})});
  } else {
    scope.step.op("MulBackward0", {kernels::scale(1, kLogits)});
    scope.step.op("MulBackward0", {kernels::mul(scores.experts, kLogits)});
    scope.step.op("SumBackward1");
    scope.step.op("SoftmaxBackward0",
                  {kernels::by_offsets("copy", scores.all(), kLogits, {.reads = 0}),  // of the sums' gradient
                   softmax(scores.tokens, scores.experts, Direction::Backward)});
  }
  scope.step.op("aten::add_", {kernels::add(scores.all(), scope.storage())});
}

void choose_backward(const LayerScope& scope, const Scores& scores) {
  if (has_limits(scope)) {
    scope.step.op("MulBackward0", {kernels::mul(scores.all(), scope.storage())});
  }
  if (scope.model.experts->fused_router) {
    scope.step.op("FusedTopkScoreFunctionBackward",
                  {kernels::elementwise("fused_topk_with_score_function_backward_kernel", scores.all(),
                                        scope.storage(), {.reads = 2.5, .writes = 1, .flops = 6})});
    return;
  }
  scope.step.op("ScatterBackward0",
                {small("_scatter_gather_elementwise_kernel", scores.met(), scope.storage())});
  scope.step.op("ToCopyBackward0", {kernels::cast(scores.met(), scope.storage(), kLogits)});
  scope.step.op("SoftmaxBackward0", {softmax(scores.tokens, scores.chosen, Direction::Backward)});
  scope.step.op("TopkBackward0",
                {kernels::fill(scores.all(), scope.storage()),
                 small("_scatter_gather_elementwise_kernel", scores.met(), scope.storage())});
}

}  // namespace

void router_forward(const LayerScope& scope, bool differentiated) {
  const Scores scores = scores_of(scope);
  product_forward(scope, gate(scope));
  choose(scope, scores);
  if (differentiated && scope.model.experts->auxiliary_loss) {
    loss_forward(scope, scores);
  }
}

void router_backward(const LayerScope& scope, BackwardParts parts) {
  const Scores scores = scores_of(scope);
  if (parts.inputs) {
    choose_backward(scope, scores);
    if (scope.model.experts->auxiliary_loss) {
      loss_backward(scope, scores);
    }
    input_gradient(scope, gate(scope));
    scope.step.op("aten::add_", {kernels::add(scope.sizes.elements(), scope.storage())});
  }
  if (parts.weights) {
    weight_gradient(scope, gate(scope));
  }
}

}  // namespace lockstep
