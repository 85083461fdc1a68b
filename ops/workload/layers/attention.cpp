#include "ops/workload/layers/attention.hpp"

#include <string_view>
#include <vector>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/fused_attention.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

void views(StepWriter& step, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    step.op(name);
  }
}

/// bmm's operands and results have this type, and so has the context.
DataType product_storage(const StepWriter& step) {
  return storage_type(step.precision());
}

/// Autocast computes softmax in FP32 (PyTorch, in registers, always); code of decoders casts the result
/// back before dropout, BERT's after it.
DataType dropout_type(const StepWriter& step, const AttentionShape& shape) {
  return shape.causal() ? product_storage(step) : step.types().model();
}

bool is_v5(const StepWriter& step) {
  return step.framework().transformers == Transformers::V5;
}

/// Scores of autocast's 16 bits plus transformers 5's mask, which is the model's, are FP32.
bool mask_widens(const StepWriter& step, const AttentionShape& shape) {
  return is_v5(step) && shape.causal() && step.types().casts();
}

Gemm head_product(const AttentionShape& shape, std::int64_t n, std::int64_t k) {
  return {.batch = shape.batch * shape.heads, .m = shape.sequence, .n = n, .k = k};
}

/// OPT of transformers 4 makes operands contiguous before.
bool has_contiguous_operands(const StepWriter& step, const AttentionShape& shape) {
  return shape.code == AttentionCode::Opt && !is_v5(step);
}

/// @param copies of operands that are not contiguous
void write_matmul(StepWriter& step, const AttentionShape& shape, const Gemm& gemm,
                  std::initializer_list<KernelCall> copies) {
  step.program().begin("aten::matmul");
  if (shape.batch > 1 && !has_contiguous_operands(step, shape)) {
    for (const KernelCall& copy : copies) {
      step.launch(copy);
    }
  }
  step.launch(kernels::product(gemm, product_type(step.precision())));
  step.program().end();
}

void scale_and_mask(StepWriter& step, const AttentionShape& shape) {
  const DataType type = product_storage(step);
  const std::int64_t scores = shape.scores();
  if (is_v5(step)) {  // eager_attention_forward()
    step.op("aten::mul", {kernels::scale(scores, type)});
    if (mask_widens(step, shape)) {
      step.op("aten::add", {kernels::broadcast_of_two_types("add", scores, type, step.types().model())});
    } else if (shape.causal()) {
      step.op("aten::add", {kernels::by_offsets("add", scores, type, {})});
    }
    return;
  }
  if (shape.code == AttentionCode::Gpt2) {
    step.op("aten::full", {kernels::fill(1, type)});  // the root of the head size
    step.op("aten::div", {kernels::scale(scores, type)});
    views(step, {"aten::slice", "aten::slice", "aten::slice", "aten::slice"});
    step.op("aten::full", {kernels::fill(1, type)});  // the least number
    step.op("aten::where", {kernels::by_offsets("where", scores, type, {})});
    if (shape.padding_mask) {
      step.op("aten::add", {kernels::by_offsets("add", scores, type, {})});
    }
  } else if (shape.code != AttentionCode::Opt) {
    step.op("aten::div", {kernels::scale(scores, type)});
    step.op("aten::add",
            {kernels::by_offsets("add", scores, type, {})});  // the mask is one row for all heads
  } else {
    step.op("aten::add", {kernels::by_offsets("add", scores, type, {})});
    step.blocking_copy("aten::to", kernels::copy_to_device(size_of(type), false));  // the least number
    step.op("aten::max", {kernels::elementwise("maximum", scores, type, {})});
  }
}

/// Back to the scores before they were scaled and masked.
void mask_backward(StepWriter& step, const AttentionShape& shape) {
  const DataType type = product_storage(step);
  const std::int64_t scores = shape.scores();
  if (is_v5(step)) {
    step.op("AddBackward0");
    step.op("MulBackward0", {kernels::scale(scores, type)});
    return;
  }
  if (shape.code == AttentionCode::Gpt2) {
    step.op("WhereBackward0", {kernels::fill(1, type), kernels::by_offsets("where", scores, type, {})});
  }
  if (shape.code == AttentionCode::Opt) {
    // where(sum == bound, gradient / 2, gradient), and 0 below: comparisons write a byte an element.
    const KernelCall compare =
        kernels::elementwise("compare", scores, type, {.writes = size_of(DataType::BOOL) / size_of(type)});
    const double choice = 1 + size_of(DataType::BOOL) / size_of(type);
    step.op("MaximumBackward0", {compare, kernels::scale(scores, type),
                                 kernels::elementwise("where", scores, type, {.reads = 1 + choice}), compare,
                                 kernels::elementwise("masked_fill", scores, type, {.reads = choice})});
    step.op("AddBackward0");
  } else {
    step.op("DivBackward0", {kernels::scale(scores, type)});
  }
}

/// PyTorch's softmax makes FP32 of FP16 scores itself; others are cast (aten/src/ATen/native/SoftMax.cpp).
bool makes_fp32_itself(const StepWriter& step, const AttentionShape& shape) {
  return step.types().casts() && product_storage(step) == DataType::FP16 && !mask_widens(step, shape);
}

void softmax_forward(StepWriter& step, const AttentionShape& shape) {
  const DataType half = product_storage(step);
  const std::int64_t scores = shape.scores();
  const bool mixed = step.types().casts();
  step.program().begin("aten::softmax");
  if (mixed && !makes_fp32_itself(step, shape) && !mask_widens(step, shape)) {
    step.launch(kernels::cast(step, scores, half, DataType::FP32));
  }
  step.launch({"softmax_warp_forward", step.types().model(),
               Softmax{.rows = scores / shape.sequence,
                       .columns = shape.sequence,
                       .half_to_float = makes_fp32_itself(step, shape)}});
  step.program().end();
  if (mixed && shape.causal()) {
    step.op("aten::to", {kernels::cast(step, scores, DataType::FP32, half)});
  }
  if (shape.drops_scores()) {
    dropout_forward(step, scores, dropout_type(step, shape));
  }
  if (mixed && !shape.causal()) {
    step.op("aten::to", {kernels::cast(step, scores, DataType::FP32, half)});
  }
}

void softmax_backward(StepWriter& step, const AttentionShape& shape) {
  const DataType half = product_storage(step);
  const std::int64_t scores = shape.scores();
  const bool mixed = step.types().casts();
  if (mixed && !shape.causal()) {
    step.op("ToCopyBackward0", {kernels::cast(step, scores, half, DataType::FP32)});
  }
  if (shape.drops_scores()) {
    dropout_backward(step, scores, dropout_type(step, shape));
  }
  if (mixed && shape.causal()) {
    step.op("ToCopyBackward0", {kernels::cast(step, scores, half, DataType::FP32)});
  }
  step.op("SoftmaxBackward0", {kernels::mul(scores, step.types().model()),
                               {"softmax_warp_backward", step.types().model(),
                                Softmax{.rows = scores / shape.sequence,
                                        .columns = shape.sequence,
                                        .direction = Direction::Backward,
                                        .half_to_float = makes_fp32_itself(step, shape)}}});
  if (mixed && !makes_fp32_itself(step, shape)) {
    step.op("ToCopyBackward0", {kernels::cast(step, scores, DataType::FP32, half)});
  }
  mask_backward(step, shape);
}

void unfused_forward(StepWriter& step, const AttentionShape& shape) {
  Gemm query_key = head_product(shape, shape.sequence, shape.head_size);
  query_key.transpose_b = true;
  const KernelCall copy = kernels::strided_copy(shape.tokens(), product_storage(step));
  const KernelCall of_keys = kernels::transposed_copy(shape.tokens(), shape.sequence, product_storage(step));
  const Gemm context = head_product(shape, shape.head_size, shape.sequence);
  if (shape.repeated_heads) {
    write_matmul(step, shape, query_key, {copy});
  } else {
    write_matmul(step, shape, query_key, {copy, of_keys});
  }
  scale_and_mask(step, shape);
  softmax_forward(step, shape);
  if (shape.repeated_heads) {
    write_matmul(step, shape, context, {});
  } else {
    write_matmul(step, shape, context, {copy});
  }
  step.op("aten::permute");
  step.op("aten::contiguous", {kernels::strided_copy(shape.tokens(), product_storage(step))});
  views(step, {"aten::view"});
}

/// The two gradients of a product, the left operand's first or second as autograd writes them.
void bmm_backward(StepWriter& step, const Gemm& first, const Gemm& second) {
  const DataType type = product_type(step.precision());
  step.op("BmmBackward0", {kernels::product(first, type), kernels::product(second, type)});
}

void unfused_backward(StepWriter& step, const AttentionShape& shape) {
  const std::int64_t s = shape.sequence, d = shape.head_size, many = shape.batch * shape.heads;
  const KernelCall copy = kernels::strided_copy(shape.tokens(), product_storage(step));
  views(step, {"CloneBackward0", "PermuteBackward0"});
  if (shape.batch > 1 || has_contiguous_operands(step, shape)) {
    step.op("UnsafeViewBackward0", {copy});
  } else {
    step.op("UnsafeViewBackward0");
  }
  bmm_backward(step, {.batch = many, .m = s, .n = d, .k = s, .transpose_a = true},  // values
               {.batch = many, .m = s, .n = s, .k = d, .transpose_b = true});       // probabilities
  views(step, {"ReshapeAliasBackward0", "ExpandBackward0", "ViewBackward0", "ExpandBackward0"});
  softmax_backward(step, shape);
  step.op("UnsafeViewBackward0");
  bmm_backward(step, {.batch = many, .m = d, .n = s, .k = s, .transpose_a = true},  // keys, transposed
               {.batch = many, .m = s, .n = d, .k = s});                            // queries
  views(step, {"ReshapeAliasBackward0", "ExpandBackward0", "ReshapeAliasBackward0", "ExpandBackward0",
               "TransposeBackward0"});
}

/// Gradients of queries, keys and values back in the layout of the projections. That of the keys is a view
/// already, which only a product of several samples cannot read.
void projection_layout_backward(StepWriter& step, const AttentionShape& shape) {
  const KernelCall copy = kernels::strided_copy(shape.tokens(), product_storage(step));
  if (shape.code == AttentionCode::Llama) {  // queries' and keys' are copied behind their rotation
    if (!shape.repeated_heads) {
      step.op("ViewBackward0", {copy});
    }
    return;
  }
  for (const bool is_view : {false, true, false}) {
    step.op("PermuteBackward0");
    if (is_view && (shape.code == AttentionCode::Gpt2 || shape.batch == 1)) {
      step.op("ViewBackward0");
    } else if (is_view) {
      step.op("ViewBackward0",
              {kernels::transposed_copy(shape.tokens(), shape.head_size, product_storage(step))});
    } else {
      step.op("ViewBackward0", {copy});
    }
  }
}

/// Queries are scaled, then all three made contiguous as bmm reads them (OPTAttention._shape).
void opt_layout_forward(StepWriter& step, const AttentionShape& shape) {
  const KernelCall copy = kernels::strided_copy(shape.tokens(), product_storage(step));
  step.op("aten::mul", {kernels::scale(shape.tokens(), product_storage(step))});
  for (int projection = 0; projection < 3; ++projection) {
    views(step, {"aten::view", "aten::transpose"});
    step.op("aten::contiguous", {copy});
    views(step, {"aten::view"});
  }
  step.op("aten::transpose");
}

}  // namespace

void attention_forward(StepWriter& step, const AttentionShape& shape) {
  if (is_plain(shape.code)) {
    step.op("aten::chunk");
    views(step, {"aten::unflatten", "aten::transpose", "aten::unflatten", "aten::transpose",
                 "aten::unflatten", "aten::transpose"});
    fused_attention_forward(step, shape);
    return;
  }
  if (shape.code == AttentionCode::Gpt2) {
    step.op("aten::split");
  }
  if (has_contiguous_operands(step, shape)) {
    opt_layout_forward(step, shape);
    unfused_forward(step, shape);
    return;
  }
  if (shape.code == AttentionCode::Opt) {
    step.op("aten::mul", {kernels::scale(shape.tokens(), product_storage(step))});
  }
  views(step, {"aten::view", "aten::permute", "aten::view", "aten::permute", "aten::view", "aten::permute"});
  if (shape.kernels != AttentionKernels::Unfused) {
    fused_attention_forward(step, shape);
  } else {
    step.op("aten::transpose");
    unfused_forward(step, shape);
  }
}

void attention_backward(StepWriter& step, const AttentionShape& shape) {
  if (shape.kernels != AttentionKernels::Unfused) {
    fused_attention_backward(step, shape);
  } else {
    unfused_backward(step, shape);
    projection_layout_backward(step, shape);
  }
  if (shape.code == AttentionCode::Opt) {  // of the queries, which were scaled before the product
    step.op("MulBackward0", {kernels::scale(shape.tokens(), product_storage(step))});
  }
  if (shape.code == AttentionCode::Gpt2 || is_plain(shape.code)) {
    const auto concat =
        shape.kernels == AttentionKernels::Unfused ? kernels::concat_strided : kernels::concat;
    step.op("SplitBackward0", {concat(3 * shape.tokens(), 3, product_storage(step))});
  }
}

}  // namespace lockstep
