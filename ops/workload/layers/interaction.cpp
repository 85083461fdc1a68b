#include "ops/workload/layers/interaction.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kType = DataType::FP32;  // features are concatenated in the tables' type

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

void index_forward(StepWriter& step, const InteractionShape& shape) {
  step.program().begin("aten::index");
  copy_indices(step, shape);
  step.launch({"index_elementwise_kernel", kType, triangle(shape, Direction::Forward)});
  step.program().end();
}

/// aten::_index_put_impl_ with accumulation: linear indices, sorted, then gradients added in their order.
void index_backward(StepWriter& step, const InteractionShape& shape) {
  const std::int64_t pairs = shape.pairs();
  step.program().begin("IndexBackward0");
  step.launch(kernels::fill(shape.rows * shape.features * shape.features, kType));
  copy_indices(step, shape);
  if (!shape.indices_on_host) {  // wrap negative indices and apply strides: on the CPU when they live there
    for (int side = 0; side < 2; ++side) {
      step.launch(kernels::scale(pairs, DataType::INT64));
      step.launch(kernels::scale(pairs, DataType::INT64));
    }
  }
  step.launch(kernels::add(pairs, DataType::INT64));
  step.launch(kernels::unrolled_copy(shape.rows * pairs, 1, 2, kType));
  step.launch(kernels::scale(pairs, DataType::INT64));
  step.launch(
      {"elementwise_kernel_with_index<arange>", DataType::INT64, Pointwise{.elements = pairs, .reads = 0}});
  step.launch({"DeviceRadixSortSingleTileKernel", DataType::INT64,
               Pointwise{.elements = pairs, .reads = 2, .writes = 2, .flops = 1}});
  step.launch({"indexing_backward_kernel", kType, triangle(shape, Direction::Backward)});
  step.program().end();
}

}  // namespace

void interaction_forward(StepWriter& step, const InteractionShape& shape) {
  step.op("aten::cat", {kernels::concat(shape.rows * shape.input_width, shape.pieces, kType)});
  if (shape.kind == Interaction::Concatenate) {
    return;
  }
  const std::int64_t n = shape.features, width = shape.dense_width;
  step.op("aten::view");
  step.op("aten::transpose");
  step.op("aten::bmm",
          {kernels::product({.batch = shape.rows, .m = n, .n = n, .k = width, .transpose_b = true},
                            product_type(step.precision()))});
  step.op("aten::slice");
  index_forward(step, shape);
  step.op("aten::cat", {kernels::concat(shape.rows * (width + shape.pairs()), 2, kType)});
}

void interaction_backward(StepWriter& step, const InteractionShape& shape) {
  step.op("CatBackward0");  // narrow: views
  if (shape.kind == Interaction::Concatenate) {
    return;
  }
  const std::int64_t n = shape.features, width = shape.dense_width, square = shape.rows * n * n;
  const DataType product = product_type(step.precision());
  index_backward(step, shape);
  step.op("SliceBackward0", {kernels::fill(square, kType),
                             kernels::copy_on_device(static_cast<double>(square) * size_of(kType))});
  step.op("BmmBackward0",
          {kernels::product({.batch = shape.rows, .m = width, .n = n, .k = n, .transpose_a = true}, product),
           kernels::product({.batch = shape.rows, .m = n, .n = width, .k = n}, product)});
  step.op("TransposeBackward0");
  step.op("aten::add", {kernels::add(shape.rows * n * width, kType)});  // both operands are the features
  step.op("ViewBackward0");
  step.op("CatBackward0");
  step.op("aten::add", {kernels::add(shape.rows * width, kType)});  // the dense features are used twice
}

}  // namespace lockstep
