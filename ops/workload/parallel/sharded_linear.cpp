#include "ops/workload/parallel/sharded_linear.hpp"

#include <optional>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/fp8.hpp"

namespace lockstep {
namespace {

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

/// The operand [tokens, columns] as products read it: cast, and gathered from sequence-parallel ranks.
void gather_operand(const LayerScope& scope, const ShardedLinear& shape, std::int64_t columns) {
  if (!gathers(scope)) {
    cast_operand(scope, shape, shape.tokens * columns);
    return;
  }
  cast_share(scope, shape, scope.sizes.rows * columns);
  scope.communicate(CollectiveKind::AllGather, "tp", scope.plan.spec.tensor,
                    operand_bytes(scope, shape, columns));
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
  scope.step.op("aten::matmul", {kernels::product(product(shape, shape.tokens, shape.in, shape.out),
                                                  product_type(scope, shape))});
}

}  // namespace

void product_forward(const LayerScope& scope, const ShardedLinear& shape) {
  cast_operand(scope, shape, shape.products * shape.tokens * shape.in);
  multiply_forward(scope, shape);
}

void input_gradient(const LayerScope& scope, const ShardedLinear& shape) {
  cast_operand(scope, shape, shape.products * shape.tokens * shape.out);
  multiply_input_gradient(scope, shape);
}

void weight_gradient(const LayerScope& scope, const ShardedLinear& shape, bool expert) {
  Gemm gemm = product(shape, shape.out, shape.in, shape.tokens);
  gemm.transpose_a = true;
  scope.step.op("aten::matmul", {kernels::product(gemm, product_type(scope, shape))});
  if (!shape.shares_weight) {
    scope.gradients.accumulate(shape.products * shape.in * shape.out, expert);
  }
  if (shape.bias) {
    scope.step.op("aten::sum",
                  {kernels::reduce("sum", {.rows = shape.tokens, .columns = shape.out, .across_rows = true},
                                   scope.storage())});
    scope.gradients.accumulate(shape.out, expert);
  }
}

void column_linear_forward(const LayerScope& scope, const ShardedLinear& shape) {
  gather_operand(scope, shape, shape.in);
  multiply_forward(scope, shape);
  if (shape.bias) {
    scope.step.op("aten::add",
                  {kernels::elementwise("add", shape.tokens * shape.out, scope.storage(), {.reads = 1})});
  }
}

void column_linear_backward(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts) {
  if (parts.weights && gathers(scope)) {
    scope.communicate(CollectiveKind::AllGather, "tp", scope.plan.spec.tensor,
                      operand_bytes(scope, shape, shape.in));
    transpose_gathered(scope, shape, shape.tokens * shape.in);
  }
  std::optional<EventId> summed;
  if (parts.inputs) {
    input_gradient(scope, shape);
    if (scope.plan.spec.tensor > 1) {
      summed = scope.start(sum_of(scope), "tp", scope.bytes(shape.tokens * shape.in));
    }
  }
  if (parts.weights) {
    weight_gradient(scope, shape);
  }
  if (summed) {
    scope.step.wait_for(*summed);
  }
}

void row_linear_forward(const LayerScope& scope, const ShardedLinear& shape) {
  product_forward(scope, shape);
  scope.communicate(sum_of(scope), "tp", scope.plan.spec.tensor, scope.bytes(shape.tokens * shape.out));
}

void row_linear_backward(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts) {
  gather_operand(scope, shape, shape.out);
  if (parts.inputs) {
    multiply_input_gradient(scope, shape);
  }
  if (parts.weights) {
    if (gathers(scope)) {
      transpose_gathered(scope, shape, shape.tokens * shape.out);
    }
    weight_gradient(scope, shape);
  }
}

}  // namespace lockstep
