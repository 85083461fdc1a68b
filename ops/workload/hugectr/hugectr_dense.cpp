#include "ops/workload/hugectr/hugectr_dense.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

void product(StepWriter& step, const Gemm& gemm) {
  step.launch(kernels::product(gemm, product_type(step.precision())));
}

void elementwise(StepWriter& step, const char* name, std::int64_t elements, kernels::Passes passes) {
  step.launch(
      {name, storage_type(step.precision()),
       Pointwise{
           .elements = elements, .reads = passes.reads, .writes = passes.writes, .flops = passes.flops}});
}

}  // namespace

void hugectr_mlp_forward(StepWriter& step, const HugeCtrMlp& mlp) {
  for (std::size_t layer = 0; layer + 1 < mlp.widths.size(); ++layer) {
    product(step, {.m = mlp.rows, .n = mlp.widths[layer + 1], .k = mlp.widths[layer]});
  }
}

void hugectr_mlp_backward(StepWriter& step, const HugeCtrMlp& mlp, bool input_gradient) {
  for (std::size_t layer = mlp.widths.size() - 1; layer-- > 0;) {
    const std::int64_t in = mlp.widths[layer], out = mlp.widths[layer + 1];
    product(step, {.m = in, .n = out, .k = mlp.rows, .transpose_a = true});
    if (layer > 0 || input_gradient) {
      product(step, {.m = mlp.rows, .n = in, .k = out, .transpose_b = true});
    }
  }
}

void hugectr_cross_forward(StepWriter& step, const HugeCtrCross& cross) {
  for (int layer = 0; layer < cross.layers; ++layer) {
    product(step, {.m = cross.rows, .n = cross.projection, .k = cross.width});
    product(step, {.m = cross.rows, .n = cross.width, .k = cross.projection});
    elementwise(step, "fused_matrix_elementwise_dot_add", cross.rows * cross.width, {.reads = 3, .flops = 2});
  }
}

void hugectr_cross_backward(StepWriter& step, const HugeCtrCross& cross) {
  const std::int64_t all = cross.rows * cross.width;
  const auto feature = static_cast<int>(size_of(storage_type(step.precision())).in_base_units());
  step.launch(kernels::fill(all, storage_type(step.precision())));
  for (int layer = cross.layers; layer-- > 0;) {
    elementwise(step, "fused_mul_fma3", all, {.reads = 4, .writes = 2, .flops = 3});
    product(step, {.m = cross.projection, .n = cross.width, .k = cross.rows, .transpose_a = true});
    product(step, {.m = cross.rows, .n = cross.projection, .k = cross.width, .transpose_b = true});
    product(step, {.m = cross.width, .n = cross.projection, .k = cross.rows, .transpose_a = true});
    product(
        step,
        {.m = cross.rows, .n = cross.width, .k = cross.projection, .transpose_b = true, .added_to = feature});
  }
  elementwise(step, "binaryOp<add>", all, {.reads = 2});
}

std::int64_t parameters_of(const HugeCtrMlp& mlp) {
  std::int64_t sum = 0;
  for (std::size_t layer = 0; layer + 1 < mlp.widths.size(); ++layer) {
    sum += (mlp.widths[layer] + 1) * mlp.widths[layer + 1];
  }
  return sum;
}

std::int64_t parameters_of(const HugeCtrCross& cross) {
  return cross.layers * (2 * cross.width * cross.projection + cross.width);
}

}  // namespace lockstep
