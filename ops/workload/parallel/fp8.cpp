#include "ops/workload/parallel/fp8.hpp"

#include <vector>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"

namespace lockstep {
namespace {

constexpr DataType kScale = DataType::FP32;  // of a tensor, and its greatest magnitude

/// The greatest magnitude of a tensor: a block's threads read, an atomic operation a block (amax_kernel).
void find_magnitude(const LayerScope& scope,
                    const std::function<std::int64_t(std::size_t variant)>& elements) {
  scope.step.launch({"Memset (Device)", kScale, Memset{size_of(kScale)}});
  scope.step.launch_by_rank([&](std::size_t variant) {
    return kernels::elementwise("amax", elements(variant), scope.storage(), {.writes = 0, .flops = 2});
  });
}

KernelCall scale_kernel() {
  return {"compute_scale_from_amax_kernel", kScale, Pointwise{.elements = 1, .flops = 1}};
}

}  // namespace

bool is_fp8(const LayerScope& scope, const ShardedLinear& shape) {
  return scope.step.precision() == Precision::FP8 && !shape.high_precision;
}

DataType product_type(const LayerScope& scope, const ShardedLinear& shape) {
  return is_fp8(scope, shape) ? DataType::FP8 : scope.type();
}

void cast_operand(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements) {
  if (is_fp8(scope, shape)) {
    cast_weights(scope, elements);
  }
}

void cast_share(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements, bool gathered) {
  if (!is_fp8(scope, shape)) {
    return;
  }
  if (scales_by_itself(scope)) {
    scope.step.program().begin("amax");
    find_magnitude(scope, [&](std::size_t) { return elements; });
    scope.step.program().end();
    if (gathered) {
      scope.communicate(CollectiveKind::AllReduce, "tp", scope.plan.spec.tensor, size_of(kScale));
    }
    scope.step.op("scale_from_amax", {scale_kernel()});
  }
  const double written = size_of(DataType::FP8) / size_of(scope.storage());
  scope.step.op("cast_to_fp8",
                {kernels::elementwise("cast_to_fp8", elements, scope.storage(), {.writes = written})});
}

void transpose_gathered(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements) {
  if (is_fp8(scope, shape)) {
    scope.step.op("fp8_transpose",
                  {kernels::elementwise("fp8_transpose", elements, DataType::FP8, {.flops = 0})});
  }
}

bool scales_by_itself(const LayerScope& scope) {
  return scope.step.framework().fp8_scaling == Fp8Scaling::Current;
}

void launch_cast(const LayerScope& scope, const std::function<std::int64_t(std::size_t variant)>& elements) {
  if (scales_by_itself(scope)) {
    find_magnitude(scope, elements);
    scope.step.launch(scale_kernel());
  }
  const double written =
      2 * (size_of(DataType::FP8) / size_of(scope.storage()));  // the cast and its transpose
  scope.step.launch_by_rank([&](std::size_t variant) {
    return kernels::elementwise("cast_transpose", elements(variant), scope.storage(),
                                {.reads = 1, .writes = written, .flops = 2});
  });
}

bool casts_before_gather(const LayerScope& scope) {
  return is_compiled(scope) && scope.step.precision() == Precision::FP8;
}

void precompute_float8_scales(const LayerScope& scope, std::int64_t elements, std::int64_t weights) {
  scope.step.program().begin("aten::_foreach_norm");
  for (const auto& launch : multi_tensor_launches(std::vector{elements}, 1)) {
    scope.step.launch({"multi_tensor_apply_kernel<lpnorm>", DataType::FP32,
                       Pointwise{.elements = launch.elements, .reads = 1, .writes = 0, .flops = 2}});
  }
  scope.step.program().end();
  scope.communicate(CollectiveKind::AllReduce, "stage", scope.plan.ranks / scope.plan.spec.pipeline,
                    size_of(DataType::FP32) * static_cast<double>(weights));
  scope.step.op("aten::div", {kernels::elementwise("div", weights, DataType::FP32, {})});
}

void cast_weights(const LayerScope& scope, std::int64_t elements) {
  scope.step.program().begin("cast_transpose");
  launch_cast(scope, [&](std::size_t) { return elements; });
  scope.step.program().end();
}

void update_scales(const LayerScope& scope, std::int64_t tensors) {
  const int ranks = scope.plan.ranks / scope.plan.spec.pipeline;
  scope.communicate(CollectiveKind::AllReduce, "stage", ranks,
                    size_of(DataType::FP32) * static_cast<double>(tensors));
  scope.step.op(
      "fused_amax_and_scale_update",
      {kernels::elementwise("amax_and_scale_update", tensors, DataType::FP32, {.reads = 2, .writes = 2})});
}

bool keeps_fp8_parameters(const LayerScope& scope) {
  return scope.step.framework().fp8_parameters;
}

Bytes weight_copies(const LayerScope& scope, std::int64_t elements) {
  if (scope.step.precision() != Precision::FP8) {
    return Bytes{0};
  }
  const double copies = casts_before_gather(scope) ? 1 : 2;
  const Bytes of_element =
      size_of(DataType::FP8) * copies - (keeps_fp8_parameters(scope) ? size_of(scope.storage()) : Bytes{0});
  return of_element * static_cast<double>(elements);
}

}  // namespace lockstep
