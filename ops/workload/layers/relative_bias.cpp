#include "ops/workload/layers/relative_bias.hpp"

#include <initializer_list>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/token_embedding.hpp"

namespace lockstep {
namespace {

constexpr DataType kIndex = DataType::INT64;

bool is_v5(const StepWriter& step) {
  return step.framework().transformers == Transformers::V5;
}

void range(StepWriter& step, std::int64_t elements) {
  step.op("aten::arange", {{"elementwise_kernel_with_index<arange>", kIndex,
                            Pointwise{.elements = elements, .reads = 0, .writes = 1, .flops = 1}}});
}

void each(StepWriter& step, std::initializer_list<const char*> names, std::int64_t elements, DataType type) {
  for (const char* const name : names) {
    step.op(name, {kernels::elementwise("bucket", elements, type, {})});
  }
}

KernelCall compare(std::int64_t elements) {
  return kernels::elementwise("compare", elements, kIndex,
                              {.writes = size_of(DataType::BOOL) / size_of(kIndex)});
}

/// _relative_position_bucket(): near distances have a bucket each, far ones share them by their logarithm.
void bucket_forward(StepWriter& step, std::int64_t pairs, bool causal) {
  if (causal) {
    step.op("aten::zeros_like", {kernels::fill(pairs, kIndex)});
    step.op("aten::min", {kernels::elementwise("minimum", pairs, kIndex, {.reads = 2})});
    each(step, {"aten::neg"}, pairs, kIndex);
  } else {
    step.op("aten::gt", {compare(pairs)});
    step.op("aten::to", {kernels::cast(step, pairs, DataType::BOOL, kIndex)});
    each(step, {"aten::mul", "aten::add", "aten::abs"}, pairs, kIndex);
  }
  step.op("aten::lt", {compare(pairs)});
  step.op("aten::to", {kernels::cast(step, pairs, kIndex, DataType::FP32)});
  each(step, {"aten::div", "aten::log", "aten::div", "aten::mul"}, pairs, DataType::FP32);
  step.op("aten::to", {kernels::cast(step, pairs, DataType::FP32, kIndex)});
  each(step, {"aten::add"}, pairs, kIndex);
  step.op("aten::full_like", {kernels::fill(pairs, kIndex)});
  step.op("aten::min", {kernels::elementwise("minimum", pairs, kIndex, {.reads = 2})});
  step.op("aten::where", {kernels::elementwise("where", pairs, kIndex, {.reads = 2 + 1.0 / 8})});
  // Added to the direction's offset, or to Python's 0.
  step.op("aten::add", {causal ? kernels::scale(pairs, kIndex) : kernels::add(pairs, kIndex)});
}

TokenEmbeddingShape table_of(const RelativeBiasShape& shape) {
  return {.rows = shape.buckets, .columns = shape.heads, .picks = shape.pairs()};
}

}  // namespace

void relative_bias_forward(StepWriter& step, const RelativeBiasShape& shape) {
  range(step, shape.queries);
  range(step, shape.keys);
  step.op("aten::sub", {kernels::by_offsets("sub", shape.pairs(), kIndex, {.reads = 0})});
  bucket_forward(step, shape.pairs(), shape.causal);
  token_embedding_forward(step, table_of(shape));
  step.op("aten::permute");
  step.op("aten::unsqueeze");
  if (is_v5(step)) {  // no mask, so that it stays one for all samples
    return;
  }
  const double shared = 1.0 / static_cast<double>(shape.heads) + 1.0 / static_cast<double>(shape.batch);
  step.op("aten::add", {kernels::by_offsets("add", shape.scores(), step.types().model(), {.reads = shared})});
}

void relative_bias_backward(StepWriter& step, const RelativeBiasShape& shape, GradientSink& gradients) {
  const std::int64_t one = shape.heads * shape.pairs();
  step.op("AddBackward0");
  if (shape.batch > 1 && !is_v5(step)) {
    step.op("aten::sum", {kernels::reduce("sum", {.rows = shape.batch, .columns = one, .across_rows = true},
                                          step.types().model())});
  }
  step.op("UnsqueezeBackward0");
  step.op("PermuteBackward0");
  step.op("aten::contiguous", {kernels::strided_copy(one, step.types().model())});
  token_embedding_backward(step, table_of(shape), gradients, false);
}

void cross_bias_forward(StepWriter& step, const RelativeBiasShape& shape) {
  const std::int64_t one = shape.heads * shape.pairs();
  const DataType type = step.types().model();
  step.op("aten::zeros", {kernels::fill(one, type)});
  step.op("aten::add", {kernels::by_offsets("add", shape.scores(), type,
                                            {.reads = 1.0 / static_cast<double>(shape.batch)})});
}

void padding_mask_forward(StepWriter& step, std::int64_t tokens) {
  const DataType type = step.types().model();
  step.op("aten::to", {kernels::cast(step, tokens, kIndex, type)});
  step.op("aten::rsub", {kernels::scale(tokens, type)});
  step.op("aten::mul", {kernels::scale(tokens, type)});
}

void causal_mask_forward(StepWriter& step, std::int64_t batch, std::int64_t sequence) {
  const DataType type = step.types().model();
  const std::int64_t pairs = batch * sequence * sequence;
  step.op("aten::ones", {kernels::fill(batch * sequence, DataType::FP32)});
  range(step, sequence);
  step.op("aten::repeat", {kernels::by_offsets("copy", pairs, kIndex, {.reads = 0})});
  step.op("aten::le", {kernels::by_offsets("compare", pairs, kIndex, {.writes = 1.0 / 8})});
  step.op("aten::to", {kernels::cast(step, pairs, DataType::BOOL, DataType::FP32)});
  step.op("aten::mul", {kernels::by_offsets("mul", pairs, DataType::FP32, {})});
  if (type != DataType::FP32) {
    step.op("aten::to", {kernels::cast(step, pairs, DataType::FP32, type)});
  }
  step.op("aten::rsub", {kernels::scale(pairs, type)});
  step.op("aten::mul", {kernels::scale(pairs, type)});
}

}  // namespace lockstep
