#include "ops/workload/layers/t5_sdpa.hpp"

#include "ops/workload/layers/attention.hpp"
#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kWide = DataType::FP32;

DataType storage(const StepWriter& step) {
  return storage_type(step.precision());
}

bool is_narrow(const StepWriter& step) {
  return storage(step) != kWide;
}

std::int64_t queries_of(const T5AttentionShape& shape) {
  return shape.query_rows() * shape.inner();
}

std::int64_t keys_of(const T5AttentionShape& shape) {
  return shape.key_rows() * shape.inner();
}

/// Elements of one sample's bias, which all share.
std::int64_t bias_of(const T5AttentionShape& shape) {
  return shape.heads * shape.queries * shape.keys;
}

KernelCall product(const StepWriter& step, const Gemm& gemm) {
  return kernels::product(gemm, is_narrow(step) ? DataType::TF32 : product_type(step.precision()));
}

Gemm scores_of(const T5AttentionShape& shape) {
  return {.batch = shape.batch * shape.heads,
          .m = shape.queries,
          .n = shape.keys,
          .k = shape.head_size,
          .transpose_b = true};
}

Softmax softmax_of(const T5AttentionShape& shape, Direction direction) {
  return {.rows = shape.scores() / shape.keys, .columns = shape.keys, .direction = direction};
}

/// Rows of nothing but minus infinity become zeros, not NaN.
void safe_softmax_forward(StepWriter& step, const T5AttentionShape& shape) {
  const std::int64_t scores = shape.scores(), rows = scores / shape.keys;
  const double flag = size_of(DataType::BOOL) / size_of(kWide);
  step.launch({"softmax_warp_forward", kWide, softmax_of(shape, Direction::Forward)});
  step.launch(kernels::elementwise("compare", scores, kWide, {.writes = flag}));
  step.launch(kernels::reduce("and", {.rows = rows, .columns = shape.keys}, DataType::BOOL));
  step.launch(kernels::fill(1, kWide));
  step.launch(kernels::by_offsets("where", scores, kWide, {}));
}

/// The model's bias is cast with the queries; a decoder's has been masked by each layer for itself.
void bias_forward(StepWriter& step, const T5AttentionShape& shape) {
  if (shape.causal) {
    const std::int64_t pairs = shape.queries * shape.keys;
    for (const std::int64_t tokens : {shape.queries, shape.keys}) {
      step.op("aten::arange", {{"elementwise_kernel_with_index<arange>", DataType::INT64,
                                Pointwise{.elements = tokens, .reads = 0, .writes = 1, .flops = 1}}});
    }
    step.op("aten::ge", {kernels::by_offsets("compare", pairs, DataType::BOOL, {})});
    const DataType type = step.types().model();
    step.op("aten::where", {kernels::fill(1, type), kernels::by_offsets("where", bias_of(shape), type, {})});
  }
}

void math_forward(StepWriter& step, const T5AttentionShape& shape) {
  const std::int64_t queries = queries_of(shape), keys = keys_of(shape);
  bias_forward(step, shape);
  step.program().begin("aten::scaled_dot_product_attention");
  if (step.types().casts()) {
    step.launch(kernels::cast(step, bias_of(shape), kWide, storage(step)));
  }
  if (is_narrow(step)) {
    for (const std::int64_t elements : {queries, keys, keys}) {
      step.launch(kernels::cast(step, elements, storage(step), kWide));
    }
  }
  step.launch(kernels::scale(queries, kWide));
  step.launch(kernels::scale(keys, kWide));
  if (shape.batch > 1) {
    step.launch(kernels::strided_copy(queries, kWide));
    step.launch(kernels::transposed_copy(keys, shape.keys, kWide));
  }
  step.launch(product(step, scores_of(shape)));
  step.launch(is_narrow(step) ? kernels::broadcast_of_two_types("add", shape.scores(), storage(step), kWide)
                              : kernels::by_offsets("add", shape.scores(), kWide, {}));
  safe_softmax_forward(step, shape);
  step.program().end();
  if (shape.dropout) {
    dropout_forward(step, shape.scores(), kWide);
  }
  step.program().begin("aten::matmul");
  if (is_narrow(step)) {  // the probabilities, which are a result, too
    step.launch(kernels::cast(step, shape.scores(), kWide, storage(step)));
  }
  if (shape.batch > 1) {
    step.launch(kernels::strided_copy(keys, kWide));
  }
  step.launch(product(
      step, {.batch = shape.batch * shape.heads, .m = shape.queries, .n = shape.head_size, .k = shape.keys}));
  if (is_narrow(step)) {
    step.launch(kernels::cast(step, queries, kWide, storage(step)));
  }
  step.program().end();
  step.op("aten::transpose");
  step.op("aten::contiguous", {kernels::strided_copy(queries, storage(step))});
}

/// Its sum over samples, in the bias's type; masked again in a decoder.
void bias_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place) {
  const DataType type = step.types().model();
  if (step.types().casts()) {
    step.op("ToCopyBackward0", {kernels::cast(step, bias_of(shape), storage(step), kWide)});
  }
  if (shape.causal) {
    step.op("WhereBackward0",
            {kernels::fill(1, type), kernels::by_offsets("where", bias_of(shape), type, {})});
  }
  if (!place.last) {
    step.op("aten::add_", {kernels::add(bias_of(shape), type)});
  }
}

void math_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place) {
  const std::int64_t queries = queries_of(shape), keys = keys_of(shape), many = shape.batch * shape.heads;
  const std::int64_t q = shape.queries, k = shape.keys, d = shape.head_size;
  if (is_narrow(step)) {
    step.op("ToCopyBackward0", {kernels::cast(step, queries, storage(step), kWide)});
  }
  step.op("UnsafeViewBackward0", {kernels::strided_copy(queries, kWide)});
  step.op("BmmBackward0",
          {product(step, {.batch = many, .m = k, .n = d, .k = q, .transpose_a = true}),    // values
           product(step, {.batch = many, .m = q, .n = k, .k = d, .transpose_b = true})});  // scores
  if (shape.dropout) {
    dropout_backward(step, shape.scores(), kWide);
  }
  step.op("SafeSoftmaxBackward0", {kernels::mul(shape.scores(), kWide),
                                   {"softmax_warp_backward", kWide, softmax_of(shape, Direction::Backward)}});
  if (shape.batch > 1) {
    step.op("aten::sum",
            {kernels::reduce("sum", {.rows = shape.batch, .columns = bias_of(shape), .across_rows = true},
                             kWide)});
  }
  if (is_narrow(step)) {
    step.op("aten::to", {kernels::cast(step, bias_of(shape), kWide, storage(step))});
  }
  step.op("BmmBackward0",
          {product(step, {.batch = many, .m = d, .n = k, .k = q, .transpose_a = true}),  // keys
           product(step, {.batch = many, .m = q, .n = d, .k = k})});                     // queries
  step.op("MulBackward1", {kernels::scale(keys, kWide)});
  step.op("MulBackward1", {kernels::scale(queries, kWide)});
  if (is_narrow(step)) {
    for (const std::int64_t elements : {keys, keys, queries}) {
      step.op("ToCopyBackward0", {kernels::cast(step, elements, kWide, storage(step))});
    }
  }
  bias_backward(step, shape, place);
}

FlashAttention fused(const StepWriter& step, const T5AttentionShape& shape, Direction direction) {
  return {.batch = shape.batch,
          .heads = shape.heads,
          .queries = shape.queries,
          .keys = shape.keys,
          .head_size = shape.head_size,
          .causal = false,
          .dropout = shape.dropout,
          .direction = direction,
          .version = version_of(is_narrow(step) ? shape.kernels : AttentionKernels::Efficient)};
}

DataType fused_type(const StepWriter& step) {
  return product_type(step.precision());
}

void fused_forward(StepWriter& step, const T5AttentionShape& shape) {
  step.program().begin("aten::scaled_dot_product_attention");
  if (shape.dropout && is_narrow(step) && shape.kernels == AttentionKernels::CuDnn) {
    step.launch(kernels::elementwise("unpack_cudnn", 1, DataType::INT64, {}));
  }
  step.launch({"sdpa_forward", fused_type(step), fused(step, shape, Direction::Forward)});
  step.program().end();
  step.op("aten::transpose");
  step.op("aten::contiguous");
}

void fused_backward(StepWriter& step, const T5AttentionShape& shape) {
  const std::int64_t queries = queries_of(shape);
  FlashAttention work = fused(step, shape, Direction::Backward);
  step.program().begin("ScaledDotProductAttentionBackward0");
  if (is_narrow(step)) {
    work.main_alone = true;
    step.launch(
        {"dot_do_o", fused_type(step), Pointwise{.elements = queries, .reads = 2, .writes = 0, .flops = 2}});
    step.launch({"sdpa_backward", fused_type(step), work});
    step.launch({"convert_dq", fused_type(step), Pointwise{.elements = queries, .reads = 2, .writes = 1}});
  } else {
    step.launch(kernels::mul(queries, kWide));
    step.launch(
        kernels::reduce("sum", {.rows = queries / shape.head_size, .columns = shape.head_size}, kWide));
    step.launch(kernels::strided_copy(queries / shape.head_size, kWide));
    step.launch(kernels::fill(queries, kWide));
    step.launch({"sdpa_backward", fused_type(step), work});
  }
  step.program().end();
}

}  // namespace

void t5_sdpa_forward(StepWriter& step, const T5AttentionShape& shape) {
  shape.cross ? fused_forward(step, shape) : math_forward(step, shape);
}

void t5_sdpa_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place) {
  if (shape.cross) {
    fused_backward(step, shape);
  } else {
    math_backward(step, shape, place);
  }
}

}  // namespace lockstep
