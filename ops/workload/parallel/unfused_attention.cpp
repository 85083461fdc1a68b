#include "ops/workload/parallel/unfused_attention.hpp"

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

// Keys that a row of the fused softmax has at most (FusedScaleMaskSoftmax.is_kernel_available; 4,096 until
// 2023), and what they, queries and rows of scores are multiples of.
constexpr std::int64_t kFusedKeys = 16'384;
constexpr std::int64_t kFusedMultiple = 4;
constexpr std::int64_t kTwoRowsAWarp = 128;  // of so few keys a warp takes two rows, a block eight

/// Elements of a row that the 255 registers of a thread, 32 threads to a row, have room for: forward keeps
/// one number of each, backward two. Kernels of longer rows spill; what that costs is not known here, and
/// they are left what PyTorch's softmax of a block is.
std::int64_t row_in_registers(Direction direction) {
  return direction == Direction::Forward ? 4096 : 2048;
}

Gemm head_product(const LayerSizes& s, std::int64_t n, std::int64_t k) {
  return {.batch = s.batch * s.heads, .m = s.sequence, .n = n, .k = k};
}

std::int64_t scores_of(const LayerSizes& s) {
  return s.batch * s.heads * s.sequence * s.sequence;
}

bool is_causal(const LayerScope& scope) {
  return scope.model.family == TransformerFamily::Gpt;
}

/// Whether mask and softmax are one kernel: of 16 bits only, and within its sizes.
bool fuses_softmax(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t rows_of_a_block = s.sequence <= kTwoRowsAWarp ? 2 * kFusedMultiple : kFusedMultiple;
  const std::int64_t shared = is_causal(scope) ? s.batch * s.heads : s.sequence;  // among blocks
  return size_of(scope.storage()) == size_of(DataType::FP16) && s.sequence > 16 && s.sequence <= kFusedKeys &&
         s.sequence % kFusedMultiple == 0 && s.batch * s.heads % kFusedMultiple == 0 &&
         shared % rows_of_a_block == 0;
}

KernelCall softmax(const LayerScope& scope, const char* name, Direction direction) {
  const LayerSizes& s = scope.sizes;
  return {name, scope.storage(),
          Softmax{.rows = scores_of(s) / s.sequence, .columns = s.sequence, .direction = direction}};
}

/// Mask and softmax in one kernel. The causal one has the mask in its code; the other reads it, which is the
/// same for all heads and stays in the L2 cache.
KernelCall fused_softmax(const LayerScope& scope, Direction direction) {
  const bool forward = direction == Direction::Forward;
  if (!is_causal(scope)) {
    return softmax(scope,
                   forward ? "scaled_masked_softmax_warp_forward" : "scaled_masked_softmax_warp_backward",
                   direction);
  }
  KernelCall call = softmax(scope,
                            forward ? "scaled_upper_triang_masked_softmax_warp_forward"
                                    : "scaled_upper_triang_masked_softmax_warp_backward",
                            direction);
  auto& work = std::get<Softmax>(call.work);
  work.causal = work.columns <= row_in_registers(direction);
  if (work.causal) {
    work.row_of_a_warp = row_in_registers(direction);
  }
  return call;
}

/// The mask is the same for all heads: it stays in the L2 cache.
KernelCall masked_fill(const LayerScope& scope) {
  return kernels::by_offsets("masked_fill", scores_of(scope.sizes), scope.storage(), {});
}

void softmax_forward(const LayerScope& scope) {
  if (fuses_softmax(scope)) {
    scope.step.op(is_causal(scope) ? "ScaledUpperTriangMaskedSoftmax" : "ScaledMaskedSoftmax",
                  {fused_softmax(scope, Direction::Forward)});
    return;
  }
  scope.step.op("aten::masked_fill_", {masked_fill(scope)});
  scope.step.op("aten::softmax", {softmax(scope, "softmax_warp_forward", Direction::Forward)});
}

/// PyTorch multiplies gradient and result before its kernel, and fills a copy of the gradient.
void softmax_backward(const LayerScope& scope) {
  if (fuses_softmax(scope)) {
    scope.step.op(is_causal(scope) ? "ScaledUpperTriangMaskedSoftmaxBackward" : "ScaledMaskedSoftmaxBackward",
                  {fused_softmax(scope, Direction::Backward)});
    return;
  }
  scope.step.op("SoftmaxBackward0", {kernels::mul(scores_of(scope.sizes), scope.storage()),
                                     softmax(scope, "softmax_warp_backward", Direction::Backward)});
  scope.step.op("MaskedFillBackward0",
                {kernels::copy_on_device(scope.bytes(scores_of(scope.sizes))), masked_fill(scope)});
}

}  // namespace

KernelCall concat_of_views(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  KernelCall call =
      kernels::by_offsets("cat", s.tokens * (s.query_width() + 2 * s.kv_width()), scope.storage(), {});
  call.name = "CatArrayBatchedCopy";
  return call;
}

void unfused_forward(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  Gemm query_key = head_product(s, s.sequence, s.head_size);
  query_key.transpose_b = true;
  scope.step.op("aten::baddbmm", {kernels::product(query_key, scope.type())});
  softmax_forward(scope);
  if (scope.model.dropout) {
    dropout_forward(scope.step, scores_of(s), scope.storage());
  }
  scope.step.op("aten::bmm", {kernels::product(head_product(s, s.head_size, s.sequence), scope.type())});
  scope.step.op("aten::contiguous", {kernels::strided_copy(s.tokens * s.query_width(), scope.storage())});
}

void unfused_backward(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t many = s.batch * s.heads, n = s.sequence, d = s.head_size;
  const auto product = [&](const Gemm& gemm) { return kernels::product(gemm, scope.type()); };
  scope.step.op("BmmBackward0", {product({.batch = many, .m = n, .n = d, .k = n, .transpose_a = true}),
                                 product({.batch = many, .m = n, .n = n, .k = d, .transpose_b = true})});
  if (scope.model.dropout) {
    dropout_backward(scope.step, scores_of(s), scope.storage());
  }
  softmax_backward(scope);
  const KernelCall scaled = kernels::scale(s.tokens * s.query_width(), scope.storage());
  scope.step.op("BaddbmmBackward0",
                {product({.batch = many, .m = n, .n = d, .k = n}), scaled,
                 product({.batch = many, .m = n, .n = d, .k = n, .transpose_a = true}), scaled});
  scope.step.op("SplitBackward0", {concat_of_views(scope)});
}

}  // namespace lockstep
