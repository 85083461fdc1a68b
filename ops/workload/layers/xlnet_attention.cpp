#include "ops/workload/layers/xlnet_attention.hpp"

#include <initializer_list>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/layer_norm.hpp"
#include "ops/workload/layers/transformer_block.hpp"

namespace lockstep {
namespace {

constexpr Bytes kSector{32};  // of memory

/// Type that products leave; under autocast other than the model's.
DataType narrow(const StepWriter& step) {
  return storage_type(step.precision());
}

DataType wide(const StepWriter& step) {
  return step.types().model();
}

/// Elements of products in those of the model.
double share_of_narrow(const StepWriter& step) {
  return size_of(narrow(step)) / size_of(wide(step));
}

void views(StepWriter& step, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    step.op(name);
  }
}

KernelCall product(const StepWriter& step, const Gemm& gemm) {
  return kernels::product(gemm, product_type(step.precision()));
}

/// @param casts elements of operands in the model's type
/// @param copies of operands that do not fold to matrices, before they are cast
void einsum(StepWriter& step, const Gemm& gemm, std::initializer_list<std::int64_t> casts,
            std::initializer_list<KernelCall> copies = {}) {
  step.program().begin("aten::einsum");
  for (const KernelCall& copy : copies) {
    step.launch(copy);
  }
  if (step.types().casts()) {
    for (const std::int64_t elements : casts) {
      step.launch(kernels::cast(step, elements, wide(step), narrow(step)));
    }
  }
  step.launch(product(step, gemm));
  step.program().end();
}

void cast_back(StepWriter& step, std::int64_t elements) {
  if (step.types().casts()) {
    step.op("ToCopyBackward0", {kernels::cast(step, elements, narrow(step), wide(step))});
  }
}

/// An operator whose second operand is strided: it has @p neighbours elements side by side that are of
/// matrices of scores behind each other.
KernelCall with_strided(const XlnetAttentionShape& shape, KernelCall call, std::int64_t neighbours,
                        DataType type) {
  if (size_of(type) * static_cast<double>(neighbours) >= kSector) {
    std::get<Pointwise>(call.work).sector_window = shape.sequence * shape.sequence;
  }
  return call;
}

void query_bias_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  step.op("aten::add",
          {kernels::by_offsets("add", shape.elements(), wide(step), {.reads = share_of_narrow(step)})});
}

void projections_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  const std::int64_t h = shape.hidden;
  for (int projection = 0; projection < 3; ++projection) {
    einsum(step, {.m = shape.rows(), .n = h, .k = h}, {shape.elements(), shape.weight()});
  }
  const bool autocasts = step.types().casts() && step.framework().transformers == Transformers::V5;
  const DataType made = autocasts ? narrow(step) : DataType::FP32;  // the encoding of distances
  made == wide(step) ? step.op("aten::to")
                     : step.op("aten::to", {kernels::cast(step, shape.distances(), made, wide(step))});
  einsum(step, {.m = 2 * shape.rows(), .n = h, .k = h}, {shape.distances(), shape.weight()});
}

/// rel_shift_bnij(): row i of the result begins i elements later than row i of the product; read as a matrix
/// of other rows without its first, nothing has to be moved until elements are picked.
void shift_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  step.framework().slices_whole_dimensions
      ? views(step, {"aten::reshape", "aten::slice", "aten::slice", "aten::slice", "aten::slice"})
      : views(step, {"aten::reshape", "aten::slice"});
  step.op("aten::reshape");
  step.op("aten::arange", {{"elementwise_kernel_with_index<arange>", DataType::INT64,
                            Pointwise{.elements = shape.sequence, .reads = 0, .writes = 1, .flops = 1}}});
  step.op("aten::index_select", {kernels::index_select(shape.scores(), shape.sequence, narrow(step))});
}

/// A score for either kind of pair by query, and the one that holds picked by a product with the one-hot.
void segments_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  const std::int64_t of_pairs = shape.pair_segments(), of_queries = shape.query_segments();
  query_bias_forward(step, shape);
  einsum(step, {.batch = shape.heads, .m = shape.rows(), .n = 2, .k = shape.head_size(), .transpose_b = true},
         {shape.elements(), 2 * shape.hidden});
  const Gemm pick{.batch = shape.rows(), .m = shape.sequence, .n = shape.heads, .k = 2};
  if (shape.batch > 1) {
    einsum(step, pick, {of_pairs},
           {kernels::strided_copy(of_pairs, wide(step)), kernels::strided_copy(of_queries, narrow(step))});
  } else {
    einsum(step, pick, {of_pairs});
  }
}

/// Masks all heads, whose samples are side by side: scores come out in the model's type.
void mask_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  views(step, {"aten::einsum"});
  step.op("aten::mul", {kernels::scale(shape.pairs(), wide(step))});
  KernelCall mask = with_strided(shape, kernels::by_offsets("sub", shape.scores(), wide(step), {}),
                                 shape.batch, wide(step));
  auto& work = std::get<Pointwise>(mask.work);
  work.reads = share_of_narrow(step) + (work.sector_window > 0 ? 1 : 1 / static_cast<double>(shape.heads));
  step.op("aten::sub", {mask});
}

/// The sum of three terms, scaled and masked.
void scores_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  const DataType type = narrow(step);
  step.op("aten::add", {kernels::add(shape.scores(), type)});
  if (shape.segments) {
    const KernelCall add = kernels::by_offsets("add", shape.scores(), type, {.reads = 2});
    step.op("aten::add", {with_strided(shape, add, shape.heads, type)});
  } else {
    step.op("aten::add", {kernels::scale(shape.scores(), type)});  // Python's 0
  }
  step.op("aten::mul", {kernels::scale(shape.scores(), type)});
  if (shape.masked) {
    mask_forward(step, shape);
  }
}

/// Autocast's softmax, of scores that no mask made FP32: PyTorch's makes that of FP16 itself
/// (aten/src/ATen/native/SoftMax.cpp).
bool makes_fp32_itself(const StepWriter& step, const XlnetAttentionShape& shape) {
  return step.types().casts() && !shape.masked && narrow(step) == DataType::FP16;
}

Softmax softmax_of(const StepWriter& step, const XlnetAttentionShape& shape, Direction direction) {
  return {.rows = shape.rows() * shape.heads,
          .columns = shape.sequence,
          .direction = direction,
          .half_to_float = makes_fp32_itself(step, shape)};
}

void softmax_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  step.program().begin("aten::softmax");
  if (step.types().casts() && !shape.masked && !makes_fp32_itself(step, shape)) {
    step.launch(kernels::cast(step, shape.scores(), narrow(step), wide(step)));
  }
  step.launch({"softmax_warp_forward", wide(step), softmax_of(step, shape, Direction::Forward)});
  step.program().end();
}

/// Probabilities times values, and the projection back, whose weight has heads inside.
void context_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  const std::int64_t h = shape.hidden, s = shape.sequence;
  einsum(step, {.batch = shape.matrices(), .m = s, .n = shape.head_size(), .k = s}, {shape.scores()});
  einsum(step, {.m = shape.rows(), .n = h, .k = h}, {shape.weight()},
         {kernels::strided_copy(shape.elements(), narrow(step)),
          kernels::strided_copy(shape.weight(), wide(step))});
}

/// Undoes what einsum made of its two operands: first of the second one.
void undo_second(StepWriter& step) {
  views(step, {"ReshapeAliasBackward0", "PermuteBackward0", "ReshapeAliasBackward0", "PermuteBackward0",
               "PermuteBackward0", "UnsqueezeBackward0"});
}

void undo_first(StepWriter& step) {
  views(step, {"PermuteBackward0", "UnsqueezeBackward0"});
}

/// The gradient of a product comes through two views; the second one copies what does not fold.
void into_product(StepWriter& step, std::int64_t elements, bool is_copied) {
  views(step, {"ViewBackward0", "PermuteBackward0"});
  if (is_copied) {
    step.op("ViewBackward0", {kernels::strided_copy(elements, narrow(step))});
  } else {
    step.op("ViewBackward0");
  }
}

void context_backward(StepWriter& step, const XlnetAttentionShape& shape, GradientSink& gradients) {
  const std::int64_t h = shape.hidden, s = shape.sequence, d = shape.head_size(), rows = shape.rows();
  views(step, {"ViewBackward0", "PermuteBackward0", "ViewBackward0"});
  step.op("BmmBackward0", {product(step, {.m = h, .n = h, .k = rows, .transpose_a = true}),
                           product(step, {.m = rows, .n = h, .k = h, .transpose_b = true})});
  cast_back(step, shape.weight());
  views(step,
        {"UnsafeViewBackward0", "CloneBackward0", "PermuteBackward0", "UnsafeViewBackward0", "CloneBackward0",
         "PermuteBackward0", "PermuteBackward0", "UnsqueezeBackward0", "UnsqueezeBackward0"});
  gradients.accumulate_strided(shape.weight());
  undo_first(step);
  into_product(step, shape.elements(), shape.batch > 1);
  const KernelCall values =
      product(step, {.batch = shape.matrices(), .m = s, .n = d, .k = s, .transpose_a = true});
  const KernelCall scores =
      product(step, {.batch = shape.matrices(), .m = s, .n = s, .k = d, .transpose_b = true});
  if (shape.batch > 1) {
    step.op("BmmBackward0", {values, scores});
  } else {  // the view needs no copy of one sample, and both products make one
    const KernelCall copy = kernels::strided_copy(shape.elements(), narrow(step));
    step.op("BmmBackward0", {copy, values, copy, scores});
  }
  undo_second(step);
  undo_first(step);
}

void softmax_backward(StepWriter& step, const XlnetAttentionShape& shape) {
  const DataType type = wide(step);
  cast_back(step, shape.scores());
  if (shape.dropout) {
    dropout_backward(step, shape.scores(), type);
  }
  step.op("SoftmaxBackward0",
          {kernels::mul(shape.scores(), type),
           {"softmax_warp_backward", type, softmax_of(step, shape, Direction::Backward)}});
  const char* const before = shape.masked ? "SubBackward0" : "ToCopyBackward0";
  if (step.types().casts() && !makes_fp32_itself(step, shape)) {
    step.op(before, {kernels::cast(step, shape.scores(), type, narrow(step))});
  } else if (shape.masked) {
    step.op(before);
  }
  step.op("MulBackward0", {kernels::scale(shape.scores(), narrow(step))});
  views(step, {"AddBackward0", "AddBackward0"});
}

/// Backward of queries plus a bias: its gradient is their sum over tokens; the rest is added to the queries'.
void query_bias_backward(StepWriter& step, const XlnetAttentionShape& shape, GradientSink& gradients) {
  step.op("AddBackward0",
          {kernels::reduce("sum", {.rows = shape.rows(), .columns = shape.hidden, .across_rows = true},
                           wide(step))});
  if (step.types().casts()) {
    step.op("aten::to", {kernels::cast(step, shape.elements(), wide(step), narrow(step))});
  }
  gradients.accumulate(shape.hidden);
}

void segments_backward(StepWriter& step, const XlnetAttentionShape& shape, GradientSink& gradients) {
  const std::int64_t s = shape.sequence, n = shape.heads, d = shape.head_size(), rows = shape.rows();
  const bool copies = shape.batch > 1;
  into_product(step, shape.scores(), copies);
  step.op("BmmBackward0", {product(step, {.batch = rows, .m = 2, .n = n, .k = s, .transpose_a = true})});
  views(step, {"UnsafeViewBackward0", "CloneBackward0", "PermuteBackward0", "PermuteBackward0",
               "UnsqueezeBackward0"});
  into_product(step, shape.query_segments(), copies);
  const KernelCall weight = product(step, {.batch = n, .m = d, .n = 2, .k = rows, .transpose_a = true});
  const KernelCall queries = product(step, {.batch = n, .m = rows, .n = d, .k = 2});
  if (copies) {
    step.op("BmmBackward0", {weight, queries});
  } else {
    const KernelCall copy = kernels::strided_copy(shape.query_segments(), narrow(step));
    step.op("BmmBackward0", {copy, weight, copy, queries});
  }
  cast_back(step, 2 * shape.hidden);
  undo_second(step);
  views(step, {"UnsqueezeBackward0"});
  gradients.accumulate_strided(2 * shape.hidden);
  cast_back(step, shape.elements());
  undo_first(step);
  query_bias_backward(step, shape, gradients);
}

/// Backward of the picks, and of Python's four slices, of which one cuts: each writes into zeros. The others,
/// if they are operators at all, copy all that they are given, which is contiguous.
void shift_backward(StepWriter& step, const XlnetAttentionShape& shape) {
  const DataType type = narrow(step);
  const std::int64_t all = 2 * shape.scores(), cut = all - shape.matrices() * shape.sequence;
  const auto zeros_and_copy = [&](std::int64_t elements) {
    if (step.framework().slices_whole_dimensions) {
      const Bytes size = static_cast<double>(elements) * size_of(type);
      step.op("SliceBackward0", {kernels::fill(elements, type), kernels::copy_on_device(size)});
    }
  };
  step.op("IndexSelectBackward0", {kernels::fill(cut, type), kernels::index_add(shape.scores(), type)});
  views(step, {"ReshapeAliasBackward0"});
  zeros_and_copy(cut);
  step.op("SliceBackward0", {kernels::fill(all, type), kernels::strided_copy(cut, type)});
  zeros_and_copy(all);
  zeros_and_copy(all);
  views(step, {"ReshapeAliasBackward0"});
}

/// Backward of a term that multiplies queries with @p keys of tokens or distances.
void term_backward(StepWriter& step, const XlnetAttentionShape& shape, std::int64_t keys,
                   GradientSink& gradients) {
  const std::int64_t many = shape.matrices(), s = shape.sequence, d = shape.head_size();
  into_product(step, 0, false);
  step.op("BmmBackward0", {product(step, {.batch = many, .m = d, .n = keys, .k = s, .transpose_a = true}),
                           product(step, {.batch = many, .m = s, .n = d, .k = keys})});
  undo_second(step);
  cast_back(step, shape.elements());
  undo_first(step);
  query_bias_backward(step, shape, gradients);
}

/// The gradients of queries plus biases, of one term after the other. Those of segments have heads outermost,
/// the others samples.
void add_queries(StepWriter& step, const XlnetAttentionShape& shape) {
  const DataType type = narrow(step);
  step.op("aten::add", {shape.segments ? kernels::by_offsets("add", shape.elements(), type, {.reads = 2})
                                       : kernels::add(shape.elements(), type)});
}

/// @param tokens what the weight multiplies has a gradient, too
void weight_backward(StepWriter& step, const XlnetAttentionShape& shape, bool tokens,
                     GradientSink& gradients) {
  cast_back(step, shape.weight());
  if (tokens) {
    views(step, {"ReshapeAliasBackward0", "PermuteBackward0"});
  }
  views(step, {"ReshapeAliasBackward0", "PermuteBackward0", "PermuteBackward0", "UnsqueezeBackward0",
               "UnsqueezeBackward0"});
  gradients.accumulate(shape.weight());
}

/// Distances have no gradient.
void distances_backward(StepWriter& step, const XlnetAttentionShape& shape, GradientSink& gradients) {
  const std::int64_t h = shape.hidden;
  into_product(step, shape.distances(), shape.batch > 1);
  step.op("BmmBackward0", {product(step, {.m = h, .n = h, .k = 2 * shape.rows(), .transpose_a = true})});
  weight_backward(step, shape, false, gradients);
}

void projection_backward(StepWriter& step, const XlnetAttentionShape& shape, bool is_copied,
                         GradientSink& gradients) {
  const std::int64_t h = shape.hidden, rows = shape.rows();
  into_product(step, shape.elements(), is_copied);
  step.op("BmmBackward0", {product(step, {.m = h, .n = h, .k = rows, .transpose_a = true}),
                           product(step, {.m = rows, .n = h, .k = h, .transpose_b = true})});
  weight_backward(step, shape, true, gradients);
  cast_back(step, shape.elements());
  undo_first(step);
  views(step, {"UnsqueezeBackward0"});
  step.op("aten::add", {kernels::add(shape.elements(), wide(step))});
}

}  // namespace

void xlnet_attention_forward(StepWriter& step, const XlnetAttentionShape& shape) {
  const std::int64_t many = shape.matrices(), s = shape.sequence, d = shape.head_size();
  projections_forward(step, shape);
  query_bias_forward(step, shape);
  einsum(step, {.batch = many, .m = s, .n = s, .k = d, .transpose_b = true}, {shape.elements()});
  query_bias_forward(step, shape);
  einsum(step, {.batch = many, .m = s, .n = 2 * s, .k = d, .transpose_b = true}, {shape.elements()});
  shift_forward(step, shape);
  if (shape.segments) {
    segments_forward(step, shape);
  }
  scores_forward(step, shape);
  softmax_forward(step, shape);
  if (shape.dropout) {
    dropout_forward(step, shape.scores(), wide(step));
  }
  context_forward(step, shape);
  if (shape.dropout) {
    dropout_forward(step, shape.elements(), narrow(step));
  }
  residual_add_forward(step, shape.elements());
  layer_norm_forward(step, shape.rows(), shape.hidden);
}

void xlnet_attention_backward(StepWriter& step, const XlnetAttentionShape& shape, GradientSink& gradients) {
  layer_norm_backward(step, shape.rows(), shape.hidden, gradients, 0);
  residual_add_backward(step, shape.elements());
  if (shape.dropout) {
    dropout_backward(step, shape.elements(), narrow(step));
  }
  context_backward(step, shape, gradients);
  softmax_backward(step, shape);
  if (shape.segments) {
    segments_backward(step, shape, gradients);
  }
  shift_backward(step, shape);
  term_backward(step, shape, 2 * shape.sequence, gradients);
  if (shape.segments) {
    add_queries(step, shape);
  }
  term_backward(step, shape, shape.sequence, gradients);
  add_queries(step, shape);
  distances_backward(step, shape, gradients);
  projection_backward(step, shape, true, gradients);             // values
  projection_backward(step, shape, shape.batch > 1, gradients);  // keys, transposed: one sample's can be read
  projection_backward(step, shape, true, gradients);             // queries
}

}  // namespace lockstep
