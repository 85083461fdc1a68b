#include "ops/workload/parallel/rotary.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

/// A broadcast table of cosines or sines for one head, or a strided half: offsets of each element.
KernelCall by_table(const LayerScope& scope, std::int64_t elements) {
  return kernels::by_offsets("mul", elements, scope.storage(), {});
}

void rotate_forward(const LayerScope& scope, std::int64_t elements) {
  const DataType type = scope.storage();
  scope.step.op("aten::mul", {by_table(scope, elements)});
  scope.step.op("aten::neg", {kernels::by_offsets("neg", elements / 2, type, {})});
  scope.step.op("aten::cat", {kernels::concat_strided(elements, 2, type)});
  scope.step.op("aten::mul", {by_table(scope, elements)});
  scope.step.op("aten::add", {kernels::by_offsets("add", elements, type, {.reads = 2})});
}

/// Into zeros of @p all elements.
void slice_backward(const LayerScope& scope, std::int64_t all, std::int64_t elements) {
  const DataType type = scope.storage();
  if (elements == 0) {
    scope.step.op("SliceBackward0", {kernels::fill(all, type)});
    return;
  }
  scope.step.op("SliceBackward0", {kernels::fill(all, type), kernels::strided_copy(elements, type)});
}

/// Up to the gradients of both halves.
void halves_backward(const LayerScope& scope, std::int64_t elements) {
  scope.step.op("MulBackward0", {by_table(scope, elements)});
  scope.step.op("CatBackward0");
  scope.step.op("NegBackward0", {kernels::by_offsets("neg", elements / 2, scope.storage(), {})});
}

/// The other factor of the rotated tensor.
void cosine_backward(const LayerScope& scope, std::int64_t elements) {
  scope.step.op("MulBackward0", {by_table(scope, elements)});
  scope.step.op("aten::add", {kernels::add(elements, scope.storage())});
}

void write_tables(const LayerScope& scope, std::int64_t elements, bool scales) {
  for (const char* const table : {"cos", "sin"}) {
    scope.step.op(fmt::format("aten::{}", table),
                  {kernels::elementwise(table, elements, DataType::FP32, {.flops = 8})});
    if (scales) {
      scope.step.op("aten::mul", {kernels::scale(elements, DataType::FP32)});
    }
    if (scope.storage() != DataType::FP32) {
      scope.step.op("aten::to", {kernels::cast(scope.step, elements, DataType::FP32, scope.storage())});
    }
  }
}

/// Rotates the share of @p elements. A slice of all is none, but the empty one behind it has a gradient.
void unfused_rotary(const LayerScope& scope, std::int64_t elements, Direction direction) {
  const LayerSizes& s = scope.sizes;
  const DataType type = scope.storage();
  const double share = scope.model.rotary_share;
  const auto rotated = static_cast<std::int64_t>(std::llround(share * static_cast<double>(elements)));
  if (direction == Direction::Forward) {
    const double of_head = share * static_cast<double>(s.queries * s.head_size);
    write_tables(scope, static_cast<std::int64_t>(std::llround(of_head)), false);
    rotate_forward(scope, rotated);
    scope.step.op("aten::cat", {kernels::concat(elements, 2, type)});
    return;
  }
  scope.step.op("CatBackward0");
  halves_backward(scope, rotated);
  scope.step.op("SplitBackward0", {kernels::concat(rotated, 2, type)});
  cosine_backward(scope, rotated);
  if (share < 1) {
    slice_backward(scope, elements, rotated);
  }
  slice_backward(scope, elements, elements - rotated);
  scope.step.op("aten::add", {kernels::add(elements, type)});
}

}  // namespace

void megatron_rotary(const LayerScope& scope, Direction direction) {
  if (scope.model.position_encoding != PositionEncoding::Rotary) {
    return;
  }
  const LayerSizes& s = scope.sizes;
  const auto& latent = scope.model.latent_attention;
  const std::int64_t queries = latent ? s.heads * latent->rotary_size : s.query_width();
  const std::int64_t keys = latent ? latent->rotary_size : s.kv_width();
  for (const std::int64_t width : {queries, keys}) {
    if (!scope.model.fused_rotary) {
      unfused_rotary(scope, s.tokens * width, direction);
      continue;
    }
    scope.step.op(
        direction == Direction::Forward ? "apply_rotary_pos_emb" : "apply_rotary_pos_emb_backward",
        {kernels::elementwise("rotary", s.tokens * width, scope.storage(), {.reads = 1, .flops = 3})});
  }
}

void hugging_face_rotary(const LayerScope& scope, std::int64_t width, Direction direction) {
  const std::int64_t elements = scope.sizes.tokens * width;
  if (direction == Direction::Forward) {
    rotate_forward(scope, elements);
    return;
  }
  halves_backward(scope, elements);
  slice_backward(scope, elements, elements / 2);
  slice_backward(scope, elements, elements / 2);
  scope.step.op("aten::add", {kernels::add(elements, scope.storage())});
  // The halves' gradients are contiguous by heads, the cosines' product by tokens; the sum is as the first.
  scope.step.op("MulBackward0", {by_table(scope, elements)});
  scope.step.op("aten::add", {kernels::by_offsets("add", elements, scope.storage(), {.reads = 2})});
  scope.step.op("ViewBackward0", {kernels::strided_copy(elements, scope.storage())});
}

void hugging_face_rotary_tables(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t elements = s.queries * s.head_size;
  scope.step.op("aten::matmul",
                {kernels::elementwise("mul", elements / 2, DataType::FP32, {})});  // positions by frequencies
  scope.step.op("aten::cat", {kernels::concat(elements, 2, DataType::FP32)});
  write_tables(scope, elements, true);
}

}  // namespace lockstep
