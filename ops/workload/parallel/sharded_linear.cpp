#include "ops/workload/parallel/sharded_linear.hpp"

#include <limits>
#include <optional>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/fp8.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"
#include "ops/workload/parallel/tensor_pieces.hpp"

namespace lockstep {
namespace {

// SMs of Transformer Engine's userbuffers (pytorch/module/base.py, get_default_config, num_sm) for a
// reduce-scatter in pieces and for what goes whole under another product: not by the copy engines.
constexpr int kSmsOfBulk = 16;

Gemm product(const ShardedLinear& shape, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.batch = shape.products, .m = m, .n = n, .k = k};
}

bool gathers(const LayerScope& scope) {
  return scope.plan.spec.sequence_parallel;
}

/// Bytes that an all-gather of a product's operand carries.
Bytes operand_bytes(const LayerScope& scope, const ShardedLinear& shape, std::int64_t columns) {
  const DataType type = is_fp8(scope, shape) ? DataType::FP8 : scope.storage();
  return size_of(type) * static_cast<double>(shape.tokens * columns);
}

/// Casts what a product reads; and its transpose, which the weight's gradient reads.
void cast_input(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements) {
  if (is_frozen(scope)) {
    cast_share(scope, shape, elements, false);
  } else {
    cast_operand(scope, shape, elements);
  }
}

/// The operand [tokens, columns] as products read it: cast, and gathered from sequence-parallel ranks.
void gather_operand(const LayerScope& scope, const ShardedLinear& shape, std::int64_t columns,
                    Direction direction) {
  if (!gathers(scope)) {
    const auto cast = direction == Direction::Forward ? cast_input : cast_operand;
    cast(scope, shape, shape.tokens * columns);
    return;
  }
  cast_share(scope, shape, scope.sizes.rows * columns, true);
  scope.communicate(CollectiveKind::AllGather, "tp", scope.plan.spec.tensor,
                    operand_bytes(scope, shape, columns));
  reorder_tokens(scope, shape.tokens * columns);
}

CollectiveKind sum_of(const LayerScope& scope) {
  return gathers(scope) ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
}

void multiply_forward(const LayerScope& scope, const ShardedLinear& shape) {
  Gemm gemm = product(shape, shape.tokens, shape.out, shape.in);
  gemm.transpose_b = true;
  scope.step.op("aten::linear", {kernels::product(gemm, product_type(scope, shape))});
}

void multiply_input_gradient(const LayerScope& scope, const ShardedLinear& shape) {
  Gemm gemm = product(shape, shape.tokens, shape.in, shape.out);
  gemm.split_accumulator = true;
  scope.step.op("aten::matmul", {kernels::product(gemm, product_type(scope, shape))});
}

/// Transformer Engine's layers overlap; head and router are not its.
bool goes_in_pieces(const LayerScope& scope, const ShardedLinear& shape) {
  return scope.plan.spec.tensor_overlap && !shape.high_precision;
}

using Multiply = void (*)(const LayerScope&, const ShardedLinear&);

/// The rows of one tensor-parallel rank.
ShardedLinear rows_of_a_rank(const LayerScope& scope, ShardedLinear shape) {
  shape.tokens /= scope.plan.spec.tensor;
  return shape;
}

/// Gathers as a ring exchange (Transformer Engine's userbuffers).
void gather_under(const LayerScope& scope, const ShardedLinear& shape, std::int64_t columns,
                  Multiply multiply) {
  cast_share(scope, shape, scope.sizes.rows * columns, true);
  const ShardedLinear rows = rows_of_a_rank(scope, shape);
  gather_in_pieces(scope, operand_bytes(scope, shape, columns), [&] { multiply(scope, rows); });
}

void scatter_under(const LayerScope& scope, const ShardedLinear& shape, Multiply multiply) {
  const ShardedLinear rows = rows_of_a_rank(scope, shape);
  scatter_in_pieces(scope, scope.bytes(shape.tokens * shape.out), kSmsOfBulk, [&] { multiply(scope, rows); });
}

}  // namespace

void reorder_tokens(const LayerScope& scope, std::int64_t elements) {
  if ((is_by_product(scope) || is_llama(scope)) && gathers(scope) && scope.sizes.batch > 1) {
    scope.step.op("aten::cat", {kernels::concat(elements, scope.plan.spec.tensor, scope.storage())});
  }
}

void product_forward(const LayerScope& scope, const ShardedLinear& shape) {
  cast_input(scope, shape, shape.products * shape.tokens * shape.in);
  multiply_forward(scope, shape);
}

void input_gradient(const LayerScope& scope, const ShardedLinear& shape) {
  cast_operand(scope, shape, shape.products * shape.tokens * shape.out);
  multiply_input_gradient(scope, shape);
}

int products_add_to(const LayerScope& scope) {
  if (!scope.plan.spec.fuses_weight_gradients() || is_eager(scope) || is_llama(scope)) {
    return 0;
  }
  const DataType gradient = scope.plan.has_fp32_gradients() ? DataType::FP32 : scope.storage();
  return static_cast<int>(size_of(gradient).in_base_units());
}

void add_weight_gradient(const LayerScope& scope, std::int64_t elements, bool expert) {
  if (products_add_to(scope) > 0) {
    scope.gradients.ready(elements, expert);
  } else {
    scope.gradients.accumulate(elements, expert);
  }
}

void weight_gradient(const LayerScope& scope, const ShardedLinear& shape, bool expert) {
  if (is_frozen(scope)) {
    return;
  }
  Gemm gemm = product(shape, shape.out, shape.in, shape.tokens);
  gemm.transpose_a = true;
  gemm.split_accumulator = true;
  gemm.added_to = shape.shares_weight || shape.plain ? 0 : products_add_to(scope);
  scope.step.op("aten::matmul", {kernels::product(gemm, product_type(scope, shape))});
  if (shape.plain) {
    scope.gradients.accumulate(shape.in * shape.out, expert);
  } else if (!shape.shares_weight) {
    add_weight_gradient(scope, shape.products * shape.in * shape.out, expert);
  }
  if (shape.bias) {
    scope.step.op("aten::sum",
                  {kernels::reduce("sum", {.rows = shape.tokens, .columns = shape.out, .across_rows = true},
                                   scope.storage())});
    scope.gradients.accumulate(shape.out, expert);
  }
}

namespace {

bool adds_bias_by_kernel(const LayerScope& scope, const ShardedLinear& shape) {
  return scope.model.attention == AttentionKernels::Unfused && !is_fp8(scope, shape);
}

}  // namespace

void column_linear_forward(const LayerScope& scope, const ShardedLinear& shape) {
  if (goes_in_pieces(scope, shape)) {
    gather_under(scope, shape, shape.in, multiply_forward);
  } else {
    gather_operand(scope, shape, shape.in, Direction::Forward);
    multiply_forward(scope, shape);
  }
  adapter_forward(scope, shape, SharedSide::Outputs);
  if (shape.bias && !shape.skip_bias_add && adds_bias_by_kernel(scope, shape)) {
    scope.step.op("aten::add", {kernels::by_offsets("add", shape.tokens * shape.out, scope.storage(), {})});
  }
}

namespace {

void adapter_backward(const LayerScope& scope, const ShardedLinear& shape, SharedSide side,
                      BackwardParts parts) {
  if (parts.inputs) {
    adapter_input_gradient(scope, shape, side);
  }
  if (parts.weights) {
    adapter_weight_gradient(scope, shape, side);
  }
}

/// Autograd sums the input's gradient behind both products; nanotron and DTensor keep the gathered operand.
void column_backward_in_turn(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts) {
  if (parts.inputs) {
    input_gradient(scope, shape);
  }
  if (parts.weights) {
    weight_gradient(scope, shape);
  }
  if (parts.inputs) {
    reorder_tokens(scope, shape.tokens * shape.in);
    scope.communicate(sum_of(scope), "tp", scope.plan.spec.tensor, scope.bytes(shape.tokens * shape.in));
  }
}

}  // namespace

void column_linear_backward(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts) {
  adapter_backward(scope, shape, SharedSide::Outputs, parts);
  if (is_eager(scope) || is_by_product(scope) || is_llama(scope) ||
      (!scope.plan.spec.overlap_input_gradients && !gathers(scope))) {
    column_backward_in_turn(scope, shape, parts);
    return;
  }
  const int sms = goes_in_pieces(scope, shape) ? kSmsOfBulk : std::numeric_limits<int>::max();
  std::optional<EventId> gathered, summed;
  if (parts.weights && gathers(scope) && !is_frozen(scope)) {
    gathered = scope.start(CollectiveKind::AllGather, "tp", operand_bytes(scope, shape, shape.in), sms);
  }
  if (parts.inputs) {
    input_gradient(scope, shape);
    if (scope.plan.spec.tensor > 1) {
      summed = scope.start(sum_of(scope), "tp", scope.bytes(shape.tokens * shape.in), sms);
    }
  }
  if (parts.weights) {
    if (gathered) {
      scope.step.wait_for(*gathered);
      transpose_gathered(scope, shape, shape.tokens * shape.in);
    }
    weight_gradient(scope, shape);
  }
  if (summed) {
    scope.step.wait_for(*summed);
  }
}

void row_linear_forward(const LayerScope& scope, const ShardedLinear& shape) {
  if (goes_in_pieces(scope, shape)) {
    cast_input(scope, shape, shape.tokens * shape.in);
    scatter_under(scope, shape, multiply_forward);
    adapter_forward(scope, shape, SharedSide::Inputs);
    return;
  }
  product_forward(scope, shape);
  if (!is_side_by_side(scope)) {  // else residual_forward() sums
    reorder_tokens(scope, shape.tokens * shape.out);
    scope.communicate(sum_of(scope), "tp", scope.plan.spec.tensor, scope.bytes(shape.tokens * shape.out));
  }
  adapter_forward(scope, shape, SharedSide::Inputs);
}

void row_linear_backward(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts) {
  adapter_backward(scope, shape, SharedSide::Inputs, parts);
  if (goes_in_pieces(scope, shape) && parts.inputs) {
    gather_under(scope, shape, shape.out, multiply_input_gradient);
  } else {
    gather_operand(scope, shape, shape.out, Direction::Backward);
    if (parts.inputs) {
      multiply_input_gradient(scope, shape);
    }
  }
  if (parts.weights && !is_frozen(scope)) {
    if (gathers(scope)) {
      transpose_gathered(scope, shape, shape.tokens * shape.out);
    }
    weight_gradient(scope, shape);
  }
}

}  // namespace lockstep
