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

const Names kFusedForward{"scaled_upper_triang_masked_softmax_warp_forward"};
const Names kFusedBackward{"scaled_upper_triang_masked_softmax_warp_backward"};
const Names kPaddedForward{"scaled_masked_softmax_warp_forward"};
const Names kPaddedBackward{"scaled_masked_softmax_warp_backward"};
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

TEST(UnfusedAttention, ReadsThePaddingMaskOfAnEncoder) {
  TransformerSpec bert = one_layer(16, 512);
  bert.family = TransformerFamily::Bert;
  expect_softmax(bert, Precision::BF16, kPaddedForward, kPaddedBackward);
}

// Up to 128 keys a warp takes two rows and a block eight: of heads with the mask in the code, else of
// queries.
TEST(UnfusedAttention, NeedsWholeBlocksOfShortRows) {
  TransformerSpec model = one_layer(4, 128);
  expect_softmax(model, Precision::BF16, kEagerForward, kEagerBackward);
  model.family = TransformerFamily::Bert;
  expect_softmax(model, Precision::BF16, kPaddedForward, kPaddedBackward);
  expect_softmax(one_layer(8, 128), Precision::BF16, kFusedForward, kFusedBackward);
}

/// The softmax of a job in one direction.
Softmax softmax_of(const TransformerSpec& model, Direction direction) {
  const Job job = job_of(model, {}, {.precision = Precision::BF16});
  Softmax found;
  for (const KernelCall& call : job.programs.front()->kernels) {
    const auto* softmax = std::get_if<Softmax>(&call.work);
    if (softmax != nullptr && softmax->direction == direction) found = *softmax;
  }
  return found;
}

// 32 threads hold 2,048 elements in 64 registers each forward, two numbers of each in 128 backward; 255 is
// the most that a thread has.
TEST(UnfusedAttention, HoldsRowsInRegistersAsFarAsTheyGo) {
  const auto direction_of = [](std::int64_t sequence, Direction direction) {
    return softmax_of(one_layer(4, sequence), direction);
  };
  EXPECT_EQ(direction_of(2048, Direction::Forward),
            (Softmax{.rows = 4 * 2048, .columns = 2048, .row_of_a_warp = 4096, .causal = true}));
  EXPECT_EQ(direction_of(2048, Direction::Backward), (Softmax{.rows = 4 * 2048,
                                                              .columns = 2048,
                                                              .direction = Direction::Backward,
                                                              .row_of_a_warp = 2048,
                                                              .causal = true}));
  EXPECT_TRUE(direction_of(4096, Direction::Forward).causal);
  EXPECT_EQ(direction_of(4096, Direction::Backward),
            (Softmax{.rows = 4 * 4096, .columns = 4096, .direction = Direction::Backward}));
  EXPECT_EQ(direction_of(8192, Direction::Forward), (Softmax{.rows = 4 * 8192, .columns = 8192}));
}

Names kernels_of(const std::vector<ListedOperator>& operators, const std::string& name) {
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const ListedOperator& listed) { return listed.name == name; });
  return found == operators.end() ? Names{} : found->kernels;
}

// baddbmm has scaled the scores, so that gradients of queries and keys are (tools/autograd/derivatives.yaml);
// the gradient of contiguous() is what it gets.
TEST(UnfusedAttention, ScalesGradientsOfQueriesAndKeysAndPutsViewsTogether) {
  const auto operators = operators_of(job_of(one_layer(16, 2048), {}, {.precision = Precision::BF16}));
  const std::string scale = "vectorized_elementwise_kernel<scale>";
  EXPECT_EQ(kernels_of(operators, "BaddbmmBackward0"), (Names{"bf16_gemm", scale, "bf16_gemm", scale}));
  EXPECT_EQ(kernels_of(operators, "SplitBackward0"), Names{"CatArrayBatchedCopy"});
  EXPECT_EQ(kernels_of(operators, "CloneBackward0"), Names{});
}

// Megatron-LM's attention_dropout is torch.nn.Dropout, whose kernel draws a number for each score.
TEST(UnfusedAttention, DropsScoresWithTheFrameworksKernel) {
  TransformerSpec model = one_layer(16, 2048);
  model.dropout = true;
  const Job job = job_of(model, {}, {.precision = Precision::BF16});
  const auto& kernels = job.programs.front()->kernels;
  const auto drops_scores = [](const KernelCall& call) {
    const auto* work = std::get_if<Pointwise>(&call.work);
    return call.name == "fused_dropout_kernel_vec" && work->elements == 16LL * 2048 * 2048;
  };
  const auto dropout = std::find_if(kernels.begin(), kernels.end(), drops_scores);
  ASSERT_NE(dropout, kernels.end());
  const auto& work = std::get<Pointwise>(dropout->work);
  EXPECT_EQ(work.writes, 1.5);  // of 16 bits, and a byte of the mask
  EXPECT_EQ(work.instructions, 34);
  EXPECT_TRUE(work.in_step);
}

}  // namespace
}  // namespace lockstep
