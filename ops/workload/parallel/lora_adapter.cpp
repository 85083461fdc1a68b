#include "ops/workload/parallel/lora_adapter.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

std::int64_t share(std::int64_t columns, int tensor) {
  return (columns + tensor - 1) / tensor;
}

/// One of the adapter's products as this rank has it.
struct Narrow {
  std::int64_t in = 0, out = 0;
};

struct Adapter {
  Narrow a, b;
};

Adapter adapter_of(const ShardedLinear& shape, SharedSide side, int tensor) {
  if (side == SharedSide::Outputs) {
    return {.a = {shape.in, share(shape.rank, tensor)}, .b = {shape.rank, shape.out}};
  }
  return {.a = {shape.in, shape.rank}, .b = {shape.rank, share(shape.out, tensor)}};
}

Adapter adapter_of(const LayerScope& scope, const ShardedLinear& shape, SharedSide side) {
  return adapter_of(shape, side, scope.plan.spec.tensor);
}

void multiply(const LayerScope& scope, const char* name, Gemm gemm) {
  scope.step.op(name, {kernels::product(gemm, scope.type())});
}

void communicate(const LayerScope& scope, CollectiveKind kind, std::int64_t elements) {
  scope.communicate(kind, "tp", scope.plan.spec.tensor, scope.bytes(elements));
}

/// Adapters are FP32: what they read is cast to that, and autocast's products cast it back. FSDP's
/// mixed precision gathers them in 16 bits, as all parameters.
bool is_cast(const LayerScope& scope) {
  return has_fp32_adapters(scope) && is_mixed(scope.step.precision()) && !scope.plan.spec.is_fsdp();
}

/// Makes what A reads, in the type of its product. In between, in the type of A, it is dropped out.
void prepare_input(const LayerScope& scope, std::int64_t elements) {
  const DataType type = is_cast(scope) ? DataType::FP32 : scope.storage();
  if (is_cast(scope)) {
    scope.step.op("aten::to", {kernels::cast(scope.step, elements, scope.storage(), type)});
  }
  if (scope.model.lora->dropout) {
    const double mask = size_of(DataType::BOOL) / size_of(type);
    scope.step.op("aten::dropout",
                  {{"fused_dropout_kernel_vec", type,
                    Pointwise{.elements = elements, .reads = 1, .writes = 1 + mask, .flops = 10}}});
  }
  if (is_cast(scope)) {
    scope.step.op("aten::to", {kernels::cast(scope.step, elements, type, scope.storage())});
  }
}

void prepared_input_backward(const LayerScope& scope, std::int64_t elements) {
  const DataType type = is_cast(scope) ? DataType::FP32 : scope.storage();
  if (is_cast(scope)) {
    scope.step.op("ToCopyBackward0", {kernels::cast(scope.step, elements, scope.storage(), type)});
  }
  if (scope.model.lora->dropout) {
    const double mask = size_of(DataType::BOOL) / size_of(type);
    scope.step.op(
        "NativeDropoutBackward0",
        {kernels::elementwise("masked_scale", elements, type, {.reads = 1 + mask, .writes = 1, .flops = 2})});
  }
  if (is_cast(scope)) {
    scope.step.op("ToCopyBackward0", {kernels::cast(scope.step, elements, type, scope.storage())});
  }
}

/// Elements of the product's result or its gradient: all of it, or sequence-parallel rows.
std::int64_t result_elements(const LayerScope& scope, const ShardedLinear& shape, SharedSide side) {
  return (side == SharedSide::Inputs ? scope.sizes.rows : shape.tokens) * shape.out;
}

/// Rows between sequence-parallel ranks and those that have all.
void take_rows(const LayerScope& scope, std::int64_t elements) {
  if (scope.plan.spec.sequence_parallel) {
    scope.step.op("aten::contiguous", {kernels::strided_copy(elements, scope.storage())});
  }
}

}  // namespace

bool has_fp32_adapters(const LayerScope& scope) {
  const TransformerPlanSpec& plan = scope.plan.spec;
  const bool is_deepspeed = plan.sharding != Sharding::None && !plan.is_fsdp();
  return is_frozen(scope) && is_hugging_face_llama(scope) && !is_deepspeed && !scope.plan.pure;
}

std::int64_t rank_of(const TransformerSpec& model, LoraModule module) {
  return model.lora && model.lora->adapts(module) ? model.lora->rank : 0;
}

double kept_by_adapter(const LayerScope& scope, LoraModule module) {
  if (rank_of(scope.model, module) == 0) {
    return 0;
  }
  return scope.model.lora->dropout ? 1 + size_of(DataType::BOOL) / size_of(scope.storage()) : 1;
}

std::vector<std::int64_t> adapter_parameters(const ShardedLinear& shape, SharedSide side, int tensor) {
  if (shape.rank == 0) {
    return {};
  }
  const Adapter adapter = adapter_of(shape, side, tensor);
  return {adapter.a.in * adapter.a.out, adapter.b.in * adapter.b.out};
}

void adapter_forward(const LayerScope& scope, const ShardedLinear& shape, SharedSide side) {
  if (shape.rank == 0) {
    return;
  }
  const Adapter adapter = adapter_of(scope, shape, side);
  const bool inputs = side == SharedSide::Inputs;
  prepare_input(scope, shape.tokens * shape.in);
  multiply(scope, "aten::linear",
           {.m = shape.tokens, .n = adapter.a.out, .k = adapter.a.in, .transpose_b = true});
  communicate(scope, inputs ? CollectiveKind::AllReduce : CollectiveKind::AllGather,
              shape.tokens * shape.rank);
  multiply(scope, "aten::linear",
           {.m = shape.tokens, .n = adapter.b.out, .k = adapter.b.in, .transpose_b = true});
  if (inputs && scope.plan.spec.tensor > 1) {
    communicate(scope, CollectiveKind::AllGather, shape.tokens * shape.out);
    take_rows(scope, result_elements(scope, shape, side));
  }
  const std::int64_t result = result_elements(scope, shape, side);
  scope.step.op("aten::mul", {kernels::scale(result, scope.storage())});
  scope.step.op("aten::add", {kernels::add(result, scope.storage())});
}

void adapter_input_gradient(const LayerScope& scope, const ShardedLinear& shape, SharedSide side) {
  if (shape.rank == 0) {
    return;
  }
  const Adapter adapter = adapter_of(scope, shape, side);
  const bool inputs = side == SharedSide::Inputs;
  scope.step.op("MulBackward0", {kernels::scale(result_elements(scope, shape, side), scope.storage())});
  if (inputs && scope.plan.spec.tensor > 1) {
    if (scope.plan.spec.sequence_parallel) {
      communicate(scope, CollectiveKind::AllGather, shape.tokens * shape.out);
    }
    take_rows(scope, shape.tokens * adapter.b.out);  // this rank's columns
  }
  multiply(scope, "aten::matmul", {.m = shape.tokens, .n = adapter.b.in, .k = adapter.b.out});
  communicate(scope, CollectiveKind::AllReduce, shape.tokens * shape.rank);
  multiply(scope, "aten::matmul", {.m = shape.tokens, .n = adapter.a.in, .k = adapter.a.out});
  if (!inputs) {
    communicate(scope,
                scope.plan.spec.sequence_parallel ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
                shape.tokens * shape.in);
  }
  prepared_input_backward(scope, shape.tokens * shape.in);
  const std::int64_t rows = inputs ? shape.tokens : scope.sizes.rows;
  scope.step.op("aten::add", {kernels::add(rows * shape.in, scope.storage())});
}

void adapter_weight_gradient(const LayerScope& scope, const ShardedLinear& shape, SharedSide side) {
  if (shape.rank == 0) {
    return;
  }
  const Adapter adapter = adapter_of(scope, shape, side);
  for (const Narrow& of : {adapter.b, adapter.a}) {
    multiply(scope, "aten::matmul", {.m = of.out, .n = of.in, .k = shape.tokens, .transpose_a = true});
    scope.gradients.accumulate(of.in * of.out, false);
  }
}

}  // namespace lockstep
