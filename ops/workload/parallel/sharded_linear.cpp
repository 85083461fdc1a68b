#include "ops/workload/parallel/sharded_linear.hpp"

#include <optional>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

Gemm product(const ShardedLinear& shape, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.batch = shape.products, .m = m, .n = n, .k = k};
}

Bytes input_bytes(const LayerScope& scope, const ShardedLinear& shape) {
  return scope.bytes(shape.tokens * shape.in);
}

void gather_rows(const LayerScope& scope, Bytes size) {
  if (scope.plan.spec.sequence_parallel) {
    scope.communicate(CollectiveKind::AllGather, "tp", scope.plan.spec.tensor, size);
  }
}

CollectiveKind sum_of(const LayerScope& scope) {
  return scope.plan.spec.sequence_parallel ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
}

}  // namespace

void product_forward(const LayerScope& scope, const ShardedLinear& shape) {
  Gemm gemm = product(shape, shape.tokens, shape.out, shape.in);
  gemm.transpose_b = true;
  scope.step.op("aten::linear", {kernels::product(gemm, scope.type())});
}

void input_gradient(const LayerScope& scope, const ShardedLinear& shape) {
  scope.step.op("aten::matmul",
                {kernels::product(product(shape, shape.tokens, shape.in, shape.out), scope.type())});
}

void weight_gradient(const LayerScope& scope, const ShardedLinear& shape, bool expert) {
  Gemm gemm = product(shape, shape.out, shape.in, shape.tokens);
  gemm.transpose_a = true;
  scope.step.op("aten::matmul", {kernels::product(gemm, scope.type())});
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
  gather_rows(scope, input_bytes(scope, shape));
  product_forward(scope, shape);
  if (shape.bias) {
    scope.step.op("aten::add",
                  {kernels::elementwise("add", shape.tokens * shape.out, scope.storage(), {.reads = 1})});
  }
}

void column_linear_backward(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts) {
  if (parts.weights) {
    gather_rows(scope, input_bytes(scope, shape));
  }
  std::optional<EventId> summed;
  if (parts.inputs) {
    input_gradient(scope, shape);
    if (scope.plan.spec.tensor > 1) {
      summed = scope.start(sum_of(scope), "tp", input_bytes(scope, shape));
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
  gather_rows(scope, scope.bytes(shape.tokens * shape.out));
  if (parts.inputs) {
    input_gradient(scope, shape);
  }
  if (parts.weights) {
    weight_gradient(scope, shape);
  }
}

}  // namespace lockstep
