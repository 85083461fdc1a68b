/// @file
/// Feed-forward layers as Megatron-LM writes them (core/transformer/mlp.py).

#include <vector>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"

namespace lockstep {

KernelCall activation_kernel(const LayerScope& scope, std::int64_t elements, Direction direction) {
  const bool gated = scope.model.activation == Activation::SwiGlu, forward = direction == Direction::Forward;
  const double inputs = gated ? 2 : 1;
  if (forward) {
    return kernels::elementwise(gated ? "swiglu" : "gelu", elements, scope.storage(),
                                {.reads = inputs, .writes = 1, .flops = 10});
  }
  return kernels::elementwise(gated ? "swiglu_backward" : "gelu_backward", elements, scope.storage(),
                              {.reads = 1 + inputs, .writes = inputs, .flops = 15});
}

const char* activation_operator(const LayerScope& scope, Direction direction) {
  const bool gated = scope.model.activation == Activation::SwiGlu;
  return direction == Direction::Forward ? (gated ? "bias_swiglu" : "bias_gelu")
                                         : (gated ? "bias_swiglu_back" : "bias_gelu_back");
}

namespace {

struct FeedForward {
  std::vector<ShardedLinear> in;
  ShardedLinear out;
};

FeedForward linears(const LayerScope& scope, std::int64_t width) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t parts = scope.model.activation == Activation::SwiGlu ? 2 : 1;
  const std::int64_t products = is_by_product(scope) ? parts : 1;
  // The activation adds the first product's bias (bias_gelu_fusion, bias_swiglu_fusion).
  const ShardedLinear in{.tokens = s.tokens,
                         .in = s.hidden,
                         .out = width * parts / products,
                         .bias = scope.model.bias,
                         .skip_bias_add = true,
                         .rank = rank_of(scope.model, LoraModule::LinearFc1)};
  return {.in = std::vector(static_cast<std::size_t>(products), in),
          .out = {.tokens = s.tokens,
                  .in = width,
                  .out = s.hidden,
                  .rank = rank_of(scope.model, LoraModule::LinearFc2)}};
}

/// An operator each, as in nanotron's GLUActivation (models/llama.py) and Megatron-LM's layers without
/// bias_swiglu_fusion and bias_gelu_fusion: the bias, silu and product (backward of the split is a
/// concatenation) or GELU.
void eager_activation(const LayerScope& scope, std::int64_t elements, Direction direction) {
  const DataType type = scope.storage();
  const bool gated = scope.model.activation == Activation::SwiGlu;
  if (scope.model.bias && direction == Direction::Forward) {
    scope.step.op("aten::add", {kernels::by_offsets("add", gated ? 2 * elements : elements, type, {})});
  }
  if (!gated) {
    const bool forward = direction == Direction::Forward;
    scope.step.op(forward ? "aten::gelu" : "GeluBackward0", {activation_kernel(scope, elements, direction)});
    return;
  }
  if (direction == Direction::Forward) {
    scope.step.op("aten::silu", {kernels::silu(elements, type)});
    scope.step.op("aten::mul", {kernels::mul(elements, type)});
    return;
  }
  scope.step.op("MulBackward0", {kernels::mul(elements, type), kernels::mul(elements, type)});
  scope.step.op("SiluBackward0", {kernels::silu_backward(elements, type)});
  scope.step.op("SplitBackward0", {kernels::concat(2 * elements, 2, type)});
}

void activation(const LayerScope& scope, std::int64_t width, Direction direction) {
  if (is_eager(scope) || !scope.model.fused_activation) {
    eager_activation(scope, scope.sizes.tokens * width, direction);
    return;
  }
  scope.step.op(activation_operator(scope, direction),
                {activation_kernel(scope, scope.sizes.tokens * width, direction)});
}

}  // namespace

void feed_forward_again(const LayerScope& scope, std::int64_t width) {
  for (const ShardedLinear& in : linears(scope, width).in) {
    column_linear_forward(scope, in);
  }
  activation(scope, width, Direction::Forward);
}

void feed_forward_forward(const LayerScope& scope, std::int64_t width) {
  feed_forward_again(scope, width);
  row_linear_forward(scope, linears(scope, width).out);
}

void feed_forward_backward(const LayerScope& scope, std::int64_t width, BackwardParts parts) {
  const FeedForward linear = linears(scope, width);
  row_linear_backward(scope, linear.out, parts);
  if (parts.inputs) {
    activation(scope, width, Direction::Backward);
  }
  for (const ShardedLinear& in : linear.in) {
    column_linear_backward(scope, in, parts);
    add_input_gradient(scope, &in != &linear.in.front() && parts.inputs);
  }
}

}  // namespace lockstep
