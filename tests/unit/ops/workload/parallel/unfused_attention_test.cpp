#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

TransformerSpec one_layer(std::int64_t heads, std::int64_t sequence) {
  TransformerSpec spec = gpt3();
  spec.layers = 1;
  spec.hidden = 64 * heads;
  spec.heads = heads;
  spec.positions = spec.sequence = sequence;
  spec.dropout = false;
  return spec;
}

/// Kernels between the two products of attention, forward or backward.
Names between(const Job& job, const std::string& first, const std::string& last) {
  Names names;
  bool inside = false;
  for (const ListedOperator& listed : operators_of(job)) {
    if (listed.name == last) inside = false;
    if (inside) names.insert(names.end(), listed.kernels.begin(), listed.kernels.end());
    if (listed.name == first) inside = true;
  }
  return names;
}

void expect_softmax(const TransformerSpec& model, Precision precision, const Names& forward,
                    const Names& backward) {
  const Job job = job_of(model, {}, {.precision = precision});
  EXPECT_EQ(between(job, "aten::baddbmm", "aten::bmm"), forward);
  EXPECT_EQ(between(job, "BmmBackward0", "BaddbmmBackward0"), backward);
}

const Names kFusedForward{"scaled_masked_softmax_warp_forward"};
const Names kFusedBackward{"scaled_masked_softmax_warp_backward"};
const Names kEagerForward{"elementwise_kernel<masked_fill>", "softmax_warp_forward"};
const Names kEagerBackward{"vectorized_elementwise_kernel<mul>", "softmax_warp_backward",
                           "Memcpy DtoD (Device -> Device)", "elementwise_kernel<masked_fill>"};

/// FusedScaleMaskSoftmax.is_kernel_available and forward_torch_softmax (Megatron-LM
/// core/fusions/fused_softmax.py).
TEST(UnfusedAttention, MasksAndNormalisesInOneKernelOf16Bits) {
  expect_softmax(one_layer(16, 2048), Precision::BF16, kFusedForward, kFusedBackward);
  expect_softmax(one_layer(16, 2048), Precision::FP16, kFusedForward, kFusedBackward);
}

TEST(UnfusedAttention, TakesTheFrameworksSoftmaxInFp32AndForShapesThatTheKernelDoesNotTake) {
  expect_softmax(one_layer(16, 2048), Precision::FP32, kEagerForward, kEagerBackward);
  expect_softmax(one_layer(16, 2048), Precision::TF32, kEagerForward, kEagerBackward);
  expect_softmax(one_layer(16, 2046), Precision::BF16, kEagerForward, kEagerBackward);
  expect_softmax(one_layer(2, 2048), Precision::BF16, kEagerForward, kEagerBackward);
  expect_softmax(one_layer(4, 32768), Precision::BF16, kEagerForward, kEagerBackward);
}

}  // namespace
}  // namespace lockstep
