#include "ops/workload/parallel/unfused_attention.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

// Keys that a row of the fused softmax has at most (FusedScaleMaskSoftmax.is_kernel_available; 4,096 until
// 2023), and what they, queries and rows of scores are multiples of.
constexpr std::int64_t kFusedKeys = 16'384;
constexpr std::int64_t kFusedMultiple = 4;

Gemm head_product(const LayerSizes& s, std::int64_t n, std::int64_t k) {
  return {.batch = s.batch * s.heads, .m = s.sequence, .n = n, .k = k};
}

std::int64_t scores_of(const LayerSizes& s) {
  return s.batch * s.heads * s.sequence * s.sequence;
}

/// Whether mask and softmax are one kernel: of 16 bits only, and within its sizes.
bool fuses_softmax(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  return size_of(scope.storage()) == size_of(DataType::FP16) && s.sequence > 16 && s.sequence <= kFusedKeys &&
         s.sequence % kFusedMultiple == 0 && s.batch * s.heads % kFusedMultiple == 0;
}

KernelCall softmax(const LayerScope& scope, const char* name, Direction direction) {
  const LayerSizes& s = scope.sizes;
  return {name, scope.storage(),
          Softmax{.rows = scores_of(s) / s.sequence, .columns = s.sequence, .direction = direction}};
}

/// The mask is the same for all heads: it stays in the L2 cache.
KernelCall masked_fill(const LayerScope& scope) {
  return kernels::by_offsets("masked_fill", scores_of(scope.sizes), scope.storage(), {});
}

void softmax_forward(const LayerScope& scope) {
  if (fuses_softmax(scope)) {
    scope.step.op("ScaledMaskedSoftmax",
                  {softmax(scope, "scaled_masked_softmax_warp_forward", Direction::Forward)});
    return;
  }
  scope.step.op("aten::masked_fill_", {masked_fill(scope)});
  scope.step.op("aten::softmax", {softmax(scope, "softmax_warp_forward", Direction::Forward)});
}

/// PyTorch multiplies gradient and result before its kernel, and fills a copy of the gradient.
void softmax_backward(const LayerScope& scope) {
  if (fuses_softmax(scope)) {
    scope.step.op("ScaledMaskedSoftmaxBackward",
                  {softmax(scope, "scaled_masked_softmax_warp_backward", Direction::Backward)});
    return;
  }
  scope.step.op("SoftmaxBackward0", {kernels::mul(scores_of(scope.sizes), scope.storage()),
                                     softmax(scope, "softmax_warp_backward", Direction::Backward)});
  scope.step.op("MaskedFillBackward0",
                {kernels::copy_on_device(scope.bytes(scores_of(scope.sizes))), masked_fill(scope)});
}

}  // namespace

void unfused_forward(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  Gemm query_key = head_product(s, s.sequence, s.head_size);
  query_key.transpose_b = true;
  scope.step.op("aten::baddbmm", {kernels::product(query_key, scope.type())});
  softmax_forward(scope);
  if (scope.model.dropout) {
    scope.step.op("aten::dropout",
                  {{"fused_dropout_kernel_vec", scope.storage(),
                    Pointwise{.elements = scores_of(s), .reads = 1, .writes = 1.5, .flops = 10}}});
  }
  scope.step.op("aten::bmm", {kernels::product(head_product(s, s.head_size, s.sequence), scope.type())});
  scope.step.op("aten::contiguous", {kernels::strided_copy(s.tokens * s.query_width(), scope.storage())});
}

void unfused_backward(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t many = s.batch * s.heads, n = s.sequence, d = s.head_size;
  const auto product = [&](const Gemm& gemm) { return kernels::product(gemm, scope.type()); };
  scope.step.op("CloneBackward0", {kernels::strided_copy(s.tokens * s.query_width(), scope.storage())});
  scope.step.op("BmmBackward0", {product({.batch = many, .m = n, .n = d, .k = n, .transpose_a = true}),
                                 product({.batch = many, .m = n, .n = n, .k = d, .transpose_b = true})});
  if (scope.model.dropout) {
    scope.step.op("NativeDropoutBackward0",
                  {kernels::elementwise("masked_scale", scores_of(s), scope.storage(),
                                        {.reads = 1.5, .writes = 1, .flops = 2})});
  }
  softmax_backward(scope);
  scope.step.op("BaddbmmBackward0", {product({.batch = many, .m = n, .n = d, .k = n}),
                                     product({.batch = many, .m = n, .n = d, .k = n, .transpose_a = true})});
  scope.step.op("SplitBackward0",
                {kernels::concat(s.tokens * (s.query_width() + 2 * s.kv_width()), 3, scope.storage())});
}

}  // namespace lockstep
