#include "ops/workload/layers/attention_masks.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kIndex = DataType::INT64, kBool = DataType::BOOL;

void small(StepWriter& step, std::initializer_list<const char*> names, std::int64_t elements) {
  for (const char* const name : names) {
    step.op(name, {kernels::elementwise("mask", elements, kIndex, {})});
  }
}

void range(StepWriter& step, std::int64_t elements) {
  step.op("aten::arange", {{"elementwise_kernel_with_index<arange>", kIndex,
                            Pointwise{.elements = elements, .reads = 0, .writes = 1, .flops = 1}}});
}

}  // namespace

void packed_samples_check(StepWriter& step, const AttentionMaskShape& shape) {
  const std::int64_t tokens = shape.batch * shape.sequence;
  small(step, {"aten::sub"}, shape.batch);
  step.op("aten::diff", {kernels::concat(tokens + shape.batch, 2, kIndex),
                         kernels::by_offsets("sub", tokens, kIndex, {.reads = 2})});
  small(step, {"aten::ne", "aten::to", "aten::cumsum"}, tokens);
  small(step, {"aten::eq"}, shape.batch);
  step.op("aten::all", {kernels::reduce("and", {.rows = 1, .columns = shape.batch}, kBool)});
  step.blocking_copy("aten::is_nonzero", kernels::copy_to_host(size_of(kBool), true));
}

void attention_mask_forward(StepWriter& step, const AttentionMaskShape& shape) {
  const std::int64_t pairs = shape.sequence * shape.sequence, all = shape.batch * pairs;
  const DataType type = step.types().model();
  for (const std::int64_t elements : {shape.batch, std::int64_t{1}, shape.sequence, shape.sequence}) {
    range(step, elements);
  }
  small(step, {"aten::add", "aten::add"}, shape.sequence);
  if (shape.causal) {
    step.op("aten::le", {kernels::by_offsets("compare", pairs, kBool, {})});
  }
  if (shape.padding) {
    step.op("aten::new_ones", {kernels::fill(1, kBool)});
    step.op("aten::__and__", {kernels::by_offsets("and", pairs, kBool, {})});
    small(step, {"aten::contiguous", "aten::contiguous"}, shape.sequence);
    step.op("aten::index", {kernels::by_offsets("index", shape.batch * shape.sequence, kBool, {})});
    step.op("aten::__and__", {kernels::by_offsets("and", all, kBool, {})});
  }
  if (!shape.of_numbers) {
    return;
  }
  step.blocking_copy("aten::to", kernels::copy_to_device(size_of(type), false));  // zero
  step.op("aten::where", {kernels::fill(1, type), kernels::by_offsets("where", all, type, {.reads = 0.25})});
}

}  // namespace lockstep
