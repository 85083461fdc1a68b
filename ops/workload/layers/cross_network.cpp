#include "ops/workload/layers/cross_network.hpp"

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"

namespace lockstep {
namespace {

LinearShape narrowing(const CrossShape& cross) {
  return {.rows = cross.rows, .in = cross.width, .out = cross.projection, .bias = false};
}

LinearShape widening(const CrossShape& cross) {
  return {.rows = cross.rows, .in = cross.projection, .out = cross.width, .bias = false};
}

bool casts_input(const CrossShape& cross) {
  return cross.type == DataType::FP32;
}

}  // namespace

void cross_forward(StepWriter& step, const CrossShape& cross) {
  const std::int64_t all = cross.rows * cross.width;
  for (int layer = 0; layer < cross.layers; ++layer) {
    linear_forward(step, narrowing(cross), casts_input(cross));
    linear_forward(step, widening(cross));
    step.op("aten::add", {kernels::scale(all, cross.type)});  // the bias: a row
    step.op("aten::mul", {kernels::mul(all, cross.type)});
    step.op("aten::add", {kernels::add(all, cross.type)});
  }
}

void cross_backward(StepWriter& step, const CrossShape& cross, GradientSink& gradients) {
  const std::int64_t all = cross.rows * cross.width;
  for (int layer = cross.layers; layer-- > 0;) {
    step.op("AddBackward0");
    step.op("MulBackward0", {kernels::mul(all, cross.type), kernels::mul(all, cross.type)});
    step.op("aten::sum",
            {kernels::reduce("sum", {.rows = cross.rows, .columns = cross.width, .across_rows = true},
                             cross.type)});
    gradients.accumulate(cross.width);
    linear_backward(step, widening(cross), gradients, true);
    linear_backward(step, narrowing(cross), gradients, true, casts_input(cross));
    step.op("aten::add", {kernels::add(all, cross.type)});  // of x_l
    if (layer + 1 < cross.layers) {
      step.op("aten::add", {kernels::add(all, cross.type)});  // of x_0, from the layer behind
    }
  }
  if (cross.layers > 0) {
    step.op("aten::add", {kernels::add(all, cross.type)});  // the first layer's x_l is x_0
  }
}

std::vector<std::int64_t> parameters_of(const CrossShape& cross) {
  std::vector<std::int64_t> parameters;
  for (int layer = 0; layer < cross.layers; ++layer) {
    parameters.insert(parameters.end(),
                      {cross.width * cross.projection, cross.projection * cross.width, cross.width});
  }
  return parameters;
}

}  // namespace lockstep
