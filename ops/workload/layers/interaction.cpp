#include "ops/workload/layers/interaction.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

/// The two index tensors of the triangle. CPU tensors are copied where they are used, and such a copy returns
/// only when the compute stream is idle.
void copy_indices(StepWriter& step, const InteractionShape& shape) {
  if (!shape.indices_on_host) {
    return;
  }
  for (int side = 0; side < 2; ++side) {
    step.launch(
        kernels::copy_to_device(static_cast<double>(shape.pairs()) * size_of(DataType::INT64), false));
    step.program().wait_stream(step.compute());
  }
}

TriangularIndex triangle(const InteractionShape& shape, Direction direction) {
  return {.batch = shape.rows, .n = shape.features, .diagonal = false, .direction = direction};
}

void index_forward(StepWriter& step, const InteractionShape& shape, DataType products) {
  step.program().begin("aten::index");
  copy_indices(step, shape);
  step.launch({"index_elementwise_kernel", products, triangle(shape, Direction::Forward)});
  step.program().end();
}

/// aten::_index_put_impl_ with accumulation: linear indices, sorted, then gradients added in their order.
void index_backward(StepWriter& step, const InteractionShape& shape, DataType products) {
  const std::int64_t pairs = shape.pairs();
  step.program().begin("IndexBackward0");
  step.launch(kernels::fill(shape.rows * shape.features * shape.features, products));
  copy_indices(step, shape);
  if (!shape.indices_on_host) {  // wrap negative indices and apply strides: on the CPU when they live there
    for (int side = 0; side < 2; ++side) {
      step.launch(kernels::scale(pairs, DataType::INT64));
      step.launch(kernels::scale(pairs, DataType::INT64));
    }
  }
  step.launch(kernels::add(pairs, DataType::INT64));
  step.launch(kernels::unrolled_copy(shape.rows * pairs, 1, 2, products));
  step.launch(kernels::scale(pairs, DataType::INT64));
  step.launch(
      {"elementwise_kernel_with_index<arange>", DataType::INT64, Pointwise{.elements = pairs, .reads = 0}});
  step.launch({"DeviceRadixSortSingleTileKernel", DataType::INT64,
               Pointwise{.elements = pairs, .reads = 2, .writes = 2, .flops = 1}});
  step.launch({"indexing_backward_kernel", products, triangle(shape, Direction::Backward)});
  step.program().end();
}

/// The type of the products of FP32 features: torch.autocast's where it is on.
DataType type_of_products(const StepWriter& step, const InteractionShape& shape) {
  return shape.type == DataType::FP32 ? storage_type(step.precision()) : shape.type;
}

bool casts_features(const StepWriter& step, const InteractionShape& shape) {
  return type_of_products(step, shape) != shape.type;
}

/// One kernel over all features: @p passes of them, and per pair of features 2 d operations.
KernelCall fused_kernel(const InteractionShape& shape, const char* name, kernels::Passes passes) {
  return {name, shape.type,
          Pointwise{.elements = shape.rows * shape.features * shape.dense_width,
                    .reads = passes.reads,
                    .writes = passes.writes,
                    .flops = passes.flops}};
}

/// Size of the interaction's result, in tensors of all features.
double result_share(const InteractionShape& shape) {
  return static_cast<double>(shape.dense_width + shape.pairs()) /
         static_cast<double>(shape.features * shape.dense_width);
}

void fused_forward(StepWriter& step, const InteractionShape& shape) {
  step.op(
      "DotBasedInteract",
      {fused_kernel(
          shape, "dot_based_interact_fwd_kernel",
          {.reads = 1, .writes = result_share(shape), .flops = static_cast<double>(shape.features - 1)})});
}

void fused_backward(StepWriter& step, const InteractionShape& shape) {
  step.op("DotBasedInteractBackward", {fused_kernel(shape, "dot_based_interact_bwd_kernel",
                                                    {.reads = 1 + result_share(shape),
                                                     .writes = 1 + 1 / static_cast<double>(shape.features),
                                                     .flops = 2 * static_cast<double>(shape.features)})});
}

void pytorch_forward(StepWriter& step, const InteractionShape& shape) {
  const std::int64_t n = shape.features, width = shape.dense_width;
  const DataType products = type_of_products(step, shape);
  step.op("aten::view");
  step.op("aten::transpose");
  step.program().begin("aten::bmm");
  if (casts_features(step, shape)) {  // both operands, one of them transposed
    for (int operand = 0; operand < 2; ++operand) {
      step.launch(kernels::cast(step, shape.rows * n * width, shape.type, products));
    }
  }
  step.launch(kernels::product({.batch = shape.rows, .m = n, .n = n, .k = width, .transpose_b = true},
                               product_type(step.precision())));
  step.program().end();
  if (step.framework().slices_whole_dimensions) {
    step.op("aten::slice");
  }
  index_forward(step, shape, products);
  step.op("aten::cat", {kernels::concat(shape.rows * (width + shape.pairs()), 2, products)});
}

void pytorch_backward(StepWriter& step, const InteractionShape& shape) {
  const std::int64_t n = shape.features, width = shape.dense_width, square = shape.rows * n * n;
  const DataType product = product_type(step.precision()), products = type_of_products(step, shape);
  index_backward(step, shape, products);
  if (step.framework().slices_whole_dimensions) {
    step.op("SliceBackward0", {kernels::fill(square, products),
                               kernels::copy_on_device(static_cast<double>(square) * size_of(products))});
  }
  step.op("BmmBackward0",
          {kernels::product({.batch = shape.rows, .m = width, .n = n, .k = n, .transpose_a = true}, product),
           kernels::product({.batch = shape.rows, .m = n, .n = width, .k = n}, product)});
  if (casts_features(step, shape)) {
    for (int operand = 0; operand < 2; ++operand) {
      step.op("ToCopyBackward0", {kernels::cast(step, shape.rows * n * width, products, shape.type)});
    }
  }
  step.op("TransposeBackward0");
  step.op("aten::add", {kernels::add(shape.rows * n * width, shape.type)});  // both operands are the features
  step.op("ViewBackward0");
}

/// The dense features are used twice.
void add_dense_gradients(StepWriter& step, const InteractionShape& shape) {
  const std::int64_t dense = shape.rows * shape.dense_width, all = dense * shape.features;
  if (!shape.dense_is_part) {
    step.op("aten::add", {kernels::add(dense, shape.type)});
    return;
  }
  step.op("SelectBackward0", {kernels::fill(all, shape.type), kernels::strided_copy(dense, shape.type)});
  step.op("aten::add", {kernels::add(all, shape.type)});
}

}  // namespace

void interaction_forward(StepWriter& step, const InteractionShape& shape) {
  step.program().begin("aten::cat");
  if (casts_features(step, shape)) {  // the dense ones, to the type of the rows
    step.launch(
        kernels::cast(step, shape.rows * shape.dense_width, type_of_products(step, shape), shape.type));
  }
  step.launch(kernels::concat(shape.rows * shape.input_width, shape.pieces, shape.type));
  step.program().end();
  if (shape.kind != Interaction::Dot) {
    return;
  }
  if (shape.kernels == InteractionKernels::Fused) {
    fused_forward(step, shape);
  } else {
    pytorch_forward(step, shape);
  }
}

void interaction_backward(StepWriter& step, const InteractionShape& shape) {
  step.op("CatBackward0");  // narrow: views
  if (shape.kind != Interaction::Dot) {
    return;
  }
  if (shape.kernels == InteractionKernels::Fused) {
    fused_backward(step, shape);
  } else {
    pytorch_backward(step, shape);
  }
  step.op("CatBackward0");
  add_dense_gradients(step, shape);
  if (casts_features(step, shape)) {
    step.op("ToCopyBackward0",
            {kernels::cast(step, shape.rows * shape.dense_width, shape.type, type_of_products(step, shape))});
  }
}

}  // namespace lockstep
