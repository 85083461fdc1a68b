#include "ops/workload/layers/t5_attention.hpp"

#include <initializer_list>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/layers/t5_sdpa.hpp"

namespace lockstep {
namespace {

DataType product_storage(const StepWriter& step) {
  return storage_type(step.precision());
}

void views(StepWriter& step, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    step.op(name);
  }
}

bool is_v5(const StepWriter& step) {
  return step.framework().transformers == Transformers::V5;
}

LinearShape linear(std::int64_t rows, std::int64_t in, std::int64_t out) {
  return {.rows = rows, .in = in, .out = out, .bias = false};
}

KernelCall layout_copy(const StepWriter& step, std::int64_t elements) {
  return kernels::strided_copy(elements, product_storage(step));
}

/// torch.matmul of [batch, heads, ...]: heads and samples of several samples are not adjacent, so that bmm's
/// operands are copied.
void write_matmul(StepWriter& step, const T5AttentionShape& shape, const Gemm& gemm,
                  std::initializer_list<KernelCall> copies) {
  step.program().begin("aten::matmul");
  if (shape.batch > 1) {
    for (const KernelCall& copy : copies) {
      step.launch(copy);
    }
  }
  step.launch(kernels::product(gemm, product_type(step.precision())));
  step.program().end();
}

/// scores += position_bias. Self-attention's bias has heads side by side where the scores have keys, so that
/// each element lies in a sector of its own, where heads fill one; the others of that sector are read by the
/// next heads.
void add_bias(StepWriter& step, const T5AttentionShape& shape) {
  const DataType type = product_storage(step);
  const double bias = size_of(step.types().model()) / size_of(type);
  KernelCall add = shape.cross ? kernels::elementwise("add", shape.scores(), type, {.reads = 1 + bias})
                               : kernels::by_offsets("add", shape.scores(), type, {.reads = 1 + bias});
  constexpr Bytes kSector{32};
  if (!shape.cross && size_of(step.types().model()) * static_cast<double>(shape.heads) >= kSector) {
    std::get<Pointwise>(add.work).sector_window = shape.queries * shape.keys;
  }
  step.op("aten::add_", {add});
}

Softmax softmax_of(const T5AttentionShape& shape, Direction direction) {
  return {.rows = shape.scores() / shape.keys, .columns = shape.keys, .direction = direction};
}

void softmax_forward(StepWriter& step, const T5AttentionShape& shape) {
  const DataType type = product_storage(step);
  const bool is_narrow = type != DataType::FP32;  // softmax(scores.float()).type_as(scores)
  if (is_narrow) {
    step.op("aten::to", {kernels::cast(step, shape.scores(), type, DataType::FP32)});
  }
  step.op("aten::softmax", {{"softmax_warp_forward", DataType::FP32, softmax_of(shape, Direction::Forward)}});
  if (is_narrow) {
    step.op("aten::to", {kernels::cast(step, shape.scores(), DataType::FP32, type)});
  }
  if (shape.dropout) {
    dropout_forward(step, shape.scores(), type);
  }
}

void softmax_backward(StepWriter& step, const T5AttentionShape& shape) {
  const DataType type = product_storage(step);
  const bool is_narrow = type != DataType::FP32;
  if (shape.dropout) {
    dropout_backward(step, shape.scores(), type);
  }
  if (is_narrow) {
    step.op("ToCopyBackward0", {kernels::cast(step, shape.scores(), type, DataType::FP32)});
  }
  step.op("SoftmaxBackward0",
          {kernels::mul(shape.scores(), DataType::FP32),
           {"softmax_warp_backward", DataType::FP32, softmax_of(shape, Direction::Backward)}});
  if (is_narrow) {
    step.op("ToCopyBackward0", {kernels::cast(step, shape.scores(), DataType::FP32, type)});
  }
}

/// The scores' gradient is the bias's too: the layers' are summed, and the first layer's goes to the table.
void bias_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place,
                   GradientSink& gradients) {
  step.op("AddBackward0");
  if (shape.cross) {  // zeros and a mask: nothing learns
    return;
  }
  const DataType bias = step.types().model(), type = product_storage(step);
  if (bias != type) {
    step.op("aten::to", {kernels::cast(step, shape.scores(), type, bias)});
  }
  if (!place.last) {
    step.op("aten::add_", {kernels::add(shape.scores(), bias)});
  }
  if (place.first) {
    relative_bias_backward(step, shape.bias(), gradients);
  }
}

/// Keys and values of the other stack's tokens: every product's gradient is added to what is there.
void projections_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place,
                          GradientSink& gradients) {
  const std::int64_t keys = shape.key_rows() * shape.inner(), queries = shape.query_rows() * shape.inner();
  const LinearShape of_keys = linear(shape.key_rows(), shape.hidden, shape.inner());
  const auto add = [&](std::int64_t rows) {
    step.op("aten::add_", {kernels::add(rows * shape.hidden, step.types().model())});
  };
  views(step, {"TransposeBackward0"});
  const bool is_fused = is_v5(step) && shape.cross;  // whose gradients lie as the projections' results
  const auto to_tokens = [&](const KernelCall& copy) {
    is_fused ? step.op("ViewBackward0") : step.op("ViewBackward0", {copy});
  };
  to_tokens(layout_copy(step, keys));  // values
  linear_backward(step, of_keys, gradients, true, true);
  if (shape.cross && !place.last) {
    add(shape.key_rows());
  }
  views(step, {"TransposeBackward0", "TransposeBackward0"});
  if (shape.batch > 1) {  // the keys' is transposed, which a product of one sample can read
    to_tokens(kernels::transposed_copy(keys, shape.head_size, product_storage(step)));
  } else {
    step.op("ViewBackward0");
  }
  linear_backward(step, of_keys, gradients, true, true);
  add(shape.key_rows());
  views(step, {"TransposeBackward0"});
  to_tokens(layout_copy(step, queries));
  linear_backward(step, linear(shape.query_rows(), shape.hidden, shape.inner()), gradients, true, true);
  if (!shape.cross) {
    add(shape.query_rows());
  }
}

/// Goes from projections to the context.
void core_forward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place) {
  const std::int64_t keys = shape.key_rows() * shape.inner(), queries = shape.query_rows() * shape.inner();
  const std::int64_t many = shape.batch * shape.heads;
  views(step, {"aten::transpose"});
  write_matmul(
      step, shape,
      {.batch = many, .m = shape.queries, .n = shape.keys, .k = shape.head_size, .transpose_b = true},
      {layout_copy(step, queries), kernels::transposed_copy(keys, shape.keys, product_storage(step))});
  if (place.first) {
    shape.cross ? cross_bias_forward(step, shape.bias()) : relative_bias_forward(step, shape.bias());
  }
  add_bias(step, shape);
  softmax_forward(step, shape);
  write_matmul(step, shape, {.batch = many, .m = shape.queries, .n = shape.head_size, .k = shape.keys},
               {layout_copy(step, keys)});
  views(step, {"aten::transpose"});
  step.op("aten::contiguous", {layout_copy(step, queries)});
  views(step, {"aten::view"});
}

void core_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place,
                   GradientSink& gradients) {
  const DataType type = product_type(step.precision());
  const std::int64_t many = shape.batch * shape.heads, q = shape.queries, k = shape.keys, d = shape.head_size;
  views(step, {"ViewBackward0", "CloneBackward0", "TransposeBackward0"});
  if (shape.batch > 1) {
    step.op("UnsafeViewBackward0", {layout_copy(step, shape.query_rows() * shape.inner())});
  } else {
    step.op("UnsafeViewBackward0");
  }
  step.op("BmmBackward0",
          {kernels::product({.batch = many, .m = k, .n = d, .k = q, .transpose_a = true}, type),    // values
           kernels::product({.batch = many, .m = q, .n = k, .k = d, .transpose_b = true}, type)});  // scores
  views(step, {"ReshapeAliasBackward0", "ExpandBackward0", "ReshapeAliasBackward0", "ExpandBackward0"});
  softmax_backward(step, shape);
  bias_backward(step, shape, place, gradients);
  step.op("UnsafeViewBackward0");
  step.op("BmmBackward0",
          {kernels::product({.batch = many, .m = d, .n = k, .k = q, .transpose_a = true}, type),  // keys
           kernels::product({.batch = many, .m = q, .n = d, .k = k}, type)});                     // queries
  views(step, {"ReshapeAliasBackward0", "ExpandBackward0", "ReshapeAliasBackward0", "ExpandBackward0"});
}

}  // namespace

void t5_attention_forward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place) {
  for (const std::int64_t rows : {shape.query_rows(), shape.key_rows(), shape.key_rows()}) {
    linear_forward(step, linear(rows, shape.hidden, shape.inner()), true);
    views(step, {"aten::view", "aten::transpose"});
  }
  if (is_v5(step)) {
    if (place.first && !shape.cross) {
      relative_bias_forward(step, shape.bias());
    }
    t5_sdpa_forward(step, shape);
  } else {
    core_forward(step, shape, place);
  }
  linear_forward(step, linear(shape.query_rows(), shape.inner(), shape.hidden));
}

void t5_attention_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place,
                           GradientSink& gradients) {
  linear_backward(step, linear(shape.query_rows(), shape.inner(), shape.hidden), gradients, true);
  if (is_v5(step)) {
    views(step, {"ViewBackward0", "CloneBackward0", "TransposeBackward0"});
    t5_sdpa_backward(step, shape, place);
    if (place.first && !shape.cross) {
      relative_bias_backward(step, shape.bias(), gradients);
    }
  } else {
    core_backward(step, shape, place, gradients);
  }
  projections_backward(step, shape, place, gradients);
}

}  // namespace lockstep
