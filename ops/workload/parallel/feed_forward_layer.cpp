/// @file
/// Feed-forward layers and mixtures of experts as Megatron-LM writes them (core/transformer/mlp.py,
/// core/transformer/moe/).

#include <cmath>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"

namespace lockstep {
namespace {

bool is_gated(const LayerScope& scope) {
  return scope.model.activation == Activation::SwiGlu;
}

void activation_forward(const LayerScope& scope, std::int64_t elements) {
  scope.step.op(is_gated(scope) ? "bias_swiglu" : "bias_gelu",
                {kernels::elementwise(is_gated(scope) ? "swiglu" : "gelu", elements, scope.storage(),
                                      {.reads = is_gated(scope) ? 2.0 : 1.0, .writes = 1, .flops = 10})});
}

void activation_backward(const LayerScope& scope, std::int64_t elements) {
  const double inputs = is_gated(scope) ? 2 : 1;
  scope.step.op(
      is_gated(scope) ? "bias_swiglu_back" : "bias_gelu_back",
      {kernels::elementwise(is_gated(scope) ? "swiglu_backward" : "gelu_backward", elements, scope.storage(),
                            {.reads = 1 + inputs, .writes = inputs, .flops = 15})});
}

struct FeedForward {
  ShardedLinear in, out;
};

FeedForward linears(const LayerScope& scope, std::int64_t width) {
  const LayerSizes& s = scope.sizes;
  return {.in = {.tokens = s.tokens,
                 .in = s.hidden,
                 .out = width * (is_gated(scope) ? 2 : 1),
                 .bias = scope.model.bias},
          .out = {.tokens = s.tokens, .in = width, .out = s.hidden}};
}

/// Experts of this rank and the tokens each has room for.
struct ExpertLoad {
  std::int64_t experts = 0, tokens = 0, width = 0;
  Bytes sent;  ///< of this rank's tokens to all experts
};

ExpertLoad load_of(const LayerScope& scope) {
  const ExpertsSpec& spec = *scope.model.experts;
  const auto& plan = scope.plan.spec;
  const double sent = static_cast<double>(scope.sizes.rows * spec.per_token) * spec.capacity;
  ExpertLoad load;
  load.experts = spec.count / plan.expert;
  // All ranks of the expert group send; with expert tensor parallelism the tokens of its ranks come together.
  load.tokens = static_cast<std::int64_t>(
      std::ceil(sent * plan.expert * plan.expert_tensor / static_cast<double>(spec.count)));
  load.width = spec.feed_forward / plan.expert_tensor;
  load.sent = size_of(scope.storage()) * (sent * static_cast<double>(scope.sizes.hidden));
  return load;
}

FeedForward expert_linears(const LayerScope& scope, const ExpertLoad& load) {
  return {.in = {.tokens = load.tokens,
                 .in = scope.sizes.hidden,
                 .out = load.width * (is_gated(scope) ? 2 : 1),
                 .bias = false,
                 .products = load.experts},
          .out = {.tokens = load.tokens,
                  .in = load.width,
                  .out = scope.sizes.hidden,
                  .bias = false,
                  .products = load.experts}};
}

/// Tokens in the order of experts, or back: a copy of every token for every expert it goes to.
void permute(const LayerScope& scope, const char* name, const ExpertLoad& load) {
  const auto elements = static_cast<std::int64_t>(load.sent / size_of(scope.storage()));
  scope.step.op(name, {kernels::strided_copy(elements, scope.storage())});
}

void exchange(const LayerScope& scope, const ExpertLoad& load) {
  scope.communicate(CollectiveKind::AllToAll, "ep", scope.plan.spec.expert, load.sent);
}

void gather_experts(const LayerScope& scope, const ExpertLoad& load, CollectiveKind kind) {
  const int ranks = scope.plan.spec.expert_tensor;
  scope.communicate(kind, "etp", ranks, load.sent * static_cast<double>(ranks));
}

ShardedLinear router(const LayerScope& scope) {
  return {.tokens = scope.sizes.rows,
          .in = scope.sizes.hidden,
          .out = scope.model.experts->count,
          .high_precision = true};
}

void router_forward(const LayerScope& scope) {
  const ExpertsSpec& spec = *scope.model.experts;
  product_forward(scope, router(scope));
  scope.step.op(
      "topk_softmax_with_capacity",
      {{"softmax_warp_forward", DataType::FP32, Softmax{.rows = scope.sizes.rows, .columns = spec.count}},
       {"gatherTopK", DataType::FP32,
        Pointwise{.elements = scope.sizes.rows * spec.count, .reads = 2, .writes = 0, .flops = 4}}});
}

void router_backward(const LayerScope& scope, BackwardParts parts) {
  const ExpertsSpec& spec = *scope.model.experts;
  const ShardedLinear shape = router(scope);
  if (parts.inputs) {
    scope.step.op(
        "topk_softmax_backward",
        {{"softmax_warp_backward", DataType::FP32,
          Softmax{.rows = scope.sizes.rows, .columns = spec.count, .direction = Direction::Backward}}});
    input_gradient(scope, shape);
  }
  if (parts.weights) {
    weight_gradient(scope, shape);
  }
}

}  // namespace

void feed_forward_forward(const LayerScope& scope, std::int64_t width) {
  const FeedForward linear = linears(scope, width);
  column_linear_forward(scope, linear.in);
  activation_forward(scope, scope.sizes.tokens * width);
  row_linear_forward(scope, linear.out);
}

void feed_forward_backward(const LayerScope& scope, std::int64_t width, BackwardParts parts) {
  const FeedForward linear = linears(scope, width);
  row_linear_backward(scope, linear.out, parts);
  if (parts.inputs) {
    activation_backward(scope, scope.sizes.tokens * width);
  }
  column_linear_backward(scope, linear.in, parts);
}

void experts_forward(const LayerScope& scope) {
  const ExpertLoad load = load_of(scope);
  const FeedForward linear = expert_linears(scope, load);
  router_forward(scope);
  permute(scope, "permute", load);
  exchange(scope, load);
  gather_experts(scope, load, CollectiveKind::AllGather);
  product_forward(scope, linear.in);
  activation_forward(scope, load.experts * load.tokens * load.width);
  product_forward(scope, linear.out);
  gather_experts(scope, load, CollectiveKind::ReduceScatter);
  exchange(scope, load);
  permute(scope, "unpermute", load);
  if (const std::int64_t shared = scope.model.experts->shared; shared > 0) {
    feed_forward_forward(scope, shared * scope.model.experts->feed_forward / scope.plan.spec.tensor);
    scope.step.op("aten::add", {kernels::add(scope.sizes.elements(), scope.storage())});
  }
}

void experts_backward(const LayerScope& scope, BackwardParts parts) {
  const ExpertLoad load = load_of(scope);
  const FeedForward linear = expert_linears(scope, load);
  if (const std::int64_t shared = scope.model.experts->shared; shared > 0) {
    feed_forward_backward(scope, shared * scope.model.experts->feed_forward / scope.plan.spec.tensor, parts);
  }
  if (parts.inputs) {
    permute(scope, "unpermute_backward", load);
    exchange(scope, load);
    gather_experts(scope, load, CollectiveKind::AllGather);
    input_gradient(scope, linear.out);
  }
  if (parts.weights) {
    weight_gradient(scope, linear.out, true);
  }
  if (parts.inputs) {
    activation_backward(scope, load.experts * load.tokens * load.width);
    input_gradient(scope, linear.in);
  }
  if (parts.weights) {
    weight_gradient(scope, linear.in, true);
  }
  if (parts.inputs) {
    gather_experts(scope, load, CollectiveKind::ReduceScatter);
    exchange(scope, load);
    permute(scope, "permute_backward", load);
  }
  router_backward(scope, parts);
}

}  // namespace lockstep
