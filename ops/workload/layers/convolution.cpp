#include "ops/workload/layers/convolution.hpp"

#include "ops/workload/layers/average_pool.hpp"
#include "ops/workload/layers/batch_norm.hpp"
#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/max_pool.hpp"

namespace lockstep {
namespace {

using Kind = CnnLayer::Kind;
using Pass = Convolution::Pass;

/// Type of activations in memory: products may be TF32.
DataType type_of(const StepWriter& step) {
  return storage_type(step.precision());
}

KernelCall convolution(StepWriter& step, const ShapedLayer& layer, std::size_t filter, Pass pass) {
  const char* name = pass == Pass::Forward        ? "conv2d_fprop"
                     : pass == Pass::DataGradient ? "conv2d_dgrad"
                                                  : "conv2d_wgrad";
  return {name, product_type(step.precision()), layer.convolution(filter, pass)};
}

kernels::Pool pool_of(const ShapedLayer& layer) {
  const auto& filter = layer.layer.filters.front();
  return {.planes = layer.input.batch * layer.input.channels,
          .height = layer.input.height,
          .width = layer.input.width,
          .out_height = layer.output.height,
          .out_width = layer.output.width,
          .window_height = filter.height,
          .window_width = filter.width};
}

kernels::PoolSizes sizes_of(const StepWriter& step) {
  return step.framework().wide_pools ? kernels::PoolSizes::Wide : kernels::PoolSizes::Narrow;
}

void pool_forward(StepWriter& step, const ShapedLayer& layer) {
  if (layer.layer.kind == Kind::MaxPool) {
    step.op("aten::max_pool2d", {kernels::max_pool_forward(pool_of(layer), type_of(step))});
    return;
  }
  step.op("aten::avg_pool2d", {kernels::average_pool_forward(pool_of(layer), type_of(step),
                                                             layer.channels_first, sizes_of(step))});
}

void pool_backward(StepWriter& step, const ShapedLayer& layer) {
  if (layer.layer.kind == Kind::MaxPool) {
    step.op("MaxPool2DWithIndicesBackward0", {kernels::fill(layer.input.elements(), type_of(step)),
                                              kernels::max_pool_backward(pool_of(layer), type_of(step))});
    return;
  }
  step.op("AvgPool2DBackward0", {kernels::average_pool_backward(pool_of(layer), type_of(step),
                                                                layer.channels_first, sizes_of(step))});
}

}  // namespace

void relu_backward(StepWriter& step, std::int64_t elements) {
  step.op("ReluBackward0",
          {kernels::elementwise("threshold_backward", elements, type_of(step), {.reads = 2})});
}

void cnn_layer_forward(StepWriter& step, const ShapedLayer& layer) {
  if (layer.layer.kind != Kind::Convolution) {
    pool_forward(step, layer);
    return;
  }
  const ImageShape part = layer.output_of_filter();
  for (std::size_t filter = 0; filter < layer.layer.filters.size(); ++filter) {
    step.program().begin("aten::conv2d");
    if (step.types().casts()) {
      step.launch(kernels::cast(step, layer.weights(filter), DataType::FP32, type_of(step)));
    }
    step.launch(convolution(step, layer, filter, Pass::Forward));
    step.program().end();
    step.op("aten::add_", {kernels::add(1, DataType::INT64)});  // num_batches_tracked
    batch_norm_forward(step, part, layer.channels_first);
    if (layer.layer.activation) {
      step.op("aten::relu_", {kernels::elementwise("clamp_min", part.elements(), type_of(step), {})});
    }
  }
  if (layer.layer.filters.size() > 1) {
    step.op("aten::cat",
            {kernels::concat(layer.output.elements(), static_cast<std::int64_t>(layer.layer.filters.size()),
                             type_of(step))});
  }
}

void cnn_layer_backward(StepWriter& step, const ShapedLayer& layer, GradientSink& gradients,
                        bool input_gradient) {
  if (layer.layer.kind != Kind::Convolution) {
    pool_backward(step, layer);
    return;
  }
  if (layer.layer.filters.size() > 1) {
    step.op("CatBackward0");  // views
  }
  const ImageShape part = layer.output_of_filter();
  const std::size_t filters = layer.layer.filters.size();
  for (std::size_t filter = filters; filter-- > 0;) {
    if (layer.layer.activation) {
      relu_backward(step, part.elements());
    }
    batch_norm_backward(step, part, layer.channels_first);
    gradients.accumulate(layer.layer.channels);
    gradients.accumulate(layer.layer.channels);
    step.program().begin("ConvolutionBackward0");
    if (input_gradient) {
      step.launch(convolution(step, layer, filter, Pass::DataGradient));
    }
    if (gradients.trains()) {
      step.launch(convolution(step, layer, filter, Pass::WeightGradient));
    }
    step.program().end();
    if (step.types().casts() && gradients.trains()) {
      step.op("ToCopyBackward0", {kernels::cast(step, layer.weights(filter), type_of(step), DataType::FP32)});
    }
    gradients.accumulate(layer.weights(filter));
    if (filter + 1 < filters && input_gradient) {
      step.op("aten::add",
              {kernels::add(layer.input.elements(), type_of(step))});  // gradients of the same input
    }
  }
}

}  // namespace lockstep
