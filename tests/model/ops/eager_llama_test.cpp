/// @file
/// Meta's Llama as torchtitan trains it: every operator a kernel, and what recomputation by layer and by
/// operator runs again.

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr double kTokens = 4096, kHidden = 2048, kFeedForward = 4096, kLayers = 4, kBytes = 2;

TransformerSpec llama(Implementation implementation) {
  TransformerSpec spec = small_llama(implementation);
  spec.tied = false;
  return spec;
}

Job eager(const TransformerPlanSpec& plan) {
  return job_of(llama(Implementation::TorchTitan), plan, {.ranks = 1});
}

double kept(const Job& job) {
  return job.memory.front()[MemoryUse::Activations];
}

std::size_t launches(const Job& job, std::string_view name) {
  return launches_of(job, name).size();
}

TEST(EagerLlama, MultipliesWhatMegatronDoes) {
  EXPECT_DOUBLE_EQ(flops(eager({})), flops(job_of(llama(Implementation::Megatron), {}, {.ranks = 1})));
}

/// Two norms of a layer and the last one: forward a square and a root, backward a square's and a root's
/// gradient. Queries and keys are rotated forward and backward.
TEST(EagerLlama, HasAKernelForEveryOperator) {
  const Job job = eager({});
  const std::size_t norms = 4 * 2 + 1;
  EXPECT_EQ(launches(job, "rsqrt"), norms);
  EXPECT_EQ(launches(job, "<pow>"), norms * 3);
  EXPECT_EQ(launches(job, "complex_mul"), 4U * 4);
  EXPECT_EQ(launches(job, "silu_backward"), 4U);
}

/// Keys and values of 8 heads are copied for 32, and the gradients summed.
TEST(EagerLlama, RepeatsSharedHeads) {
  TransformerSpec spec = llama(Implementation::TorchTitan);
  spec.kv_heads = 8;
  const Job job = job_of(spec, {}, {.ranks = 1});
  EXPECT_EQ(launches(job, "elementwise_kernel<copy>"), 4U * 2);
  EXPECT_EQ(launches(job, "vectorized_elementwise_kernel<sum>"), 4U * 2);
  EXPECT_EQ(launches(eager({}), "elementwise_kernel<copy>"), 0U);
}

/// The seven products of a layer are 4 h^2 and 3 h f; a checkpoint that stops early leaves out one h f.
TEST(EagerLlama, RecomputesSomeLayers) {
  TransformerPlanSpec plan{.recompute = Recompute::Full, .recompute_early_stop = true};
  const double none = flops(eager({})),
               layer = 2 * kTokens * (4 * kHidden * kHidden + 2 * kHidden * kFeedForward);
  EXPECT_NEAR((flops(eager(plan)) - none) / (kLayers * layer), 1, 1e-12);
  plan.recompute_every = 2;
  EXPECT_NEAR((flops(eager(plan)) - none) / (2 * layer), 1, 1e-12);
  plan.recompute_every = 4;
  EXPECT_NEAR((flops(eager(plan)) - none) / layer, 1, 1e-12);
  plan.recompute_early_stop = false;
  EXPECT_NEAR((flops(eager(plan)) - none) / (layer + 2 * kTokens * kHidden * kFeedForward), 1, 1e-12);
}

/// A layer that is recomputed keeps its input (2 bytes of 4,096 x 2,048) instead of, by norm, the input
/// in FP32, what is cast back and the result, and four tensors of attention and four of the feed-forward
/// layer in 16 bits.
TEST(EagerLlama, KeepsTheOthersActivations) {
  const double input = kBytes * kTokens * kHidden;
  const double all = 2 * (2 * input + 2 * input) + 4 * input + 4 * kBytes * kTokens * kFeedForward;
  const TransformerPlanSpec half{.recompute = Recompute::Full, .recompute_every = 2};
  EXPECT_DOUBLE_EQ(kept(eager({})) - kept(eager(half)), 2 * (all - input));
}

/// Recomputation by operator covers the second, fourth and sixth GEMM (h^2 twice, h f once), no attention,
/// and all that is element-wise.
TEST(EagerLlama, RecomputesEverySecondProduct) {
  const Job by_operator = eager({.recompute = Recompute::Operators});
  const double again = 2 * kTokens * (2 * kHidden * kHidden + kHidden * kFeedForward);
  EXPECT_NEAR((flops(by_operator) - flops(eager({}))) / (kLayers * again), 1, 1e-12);
  EXPECT_EQ(launches(by_operator, "flash_fwd_kernel"), 4U);
  EXPECT_EQ(launches(by_operator, "rsqrt"), 4U * 4 + 1);
  EXPECT_LT(kept(by_operator), kept(eager({})));
  EXPECT_GT(kept(by_operator), kept(eager({.recompute = Recompute::Full})));
}

/// AdamW of torch.optim, many tensors at a time; Megatron-LM's is one kernel.
TEST(EagerLlama, UpdatesByTorchOptim) {
  EXPECT_GT(launches(eager({}), "multi_tensor_apply_kernel<addcdiv>"), 0U);
  EXPECT_EQ(launches(eager({}), "fused_adamw"), 0U);
}

TEST(EagerLlama, DoesNotPadTheVocabulary) {
  TransformerSpec spec = llama(Implementation::TorchTitan), padded = spec;
  spec.vocabulary = 50257;
  EXPECT_DOUBLE_EQ(flops(job_of(padded, {}, {.ranks = 1})) - flops(job_of(spec, {}, {.ranks = 1})),
                   2 * 3 * kTokens * kHidden * (50304 - 50257));
}

/// One kernel each way instead of casts, a maximum, a difference, exponentials, sums and a quotient; logits
/// of 16 bits.
TEST(FusedLoss, IsAKernelEachWay) {
  TransformerSpec spec = llama(Implementation::Megatron);
  const Job apart = job_of(spec, {}, {.ranks = 1});
  spec.fused_loss = true;
  const Job fused = job_of(spec, {}, {.ranks = 1});
  EXPECT_EQ(launches(fused, "XEntropy"), 2U);
  EXPECT_EQ(launches(fused, "<sub>") + launches(fused, "<exp>"), 0U);
  EXPECT_EQ(launches(apart, "<sub>"), 1U);
  EXPECT_DOUBLE_EQ(kept(apart) - kept(fused), 2 * kTokens * 50304);
}

TEST(EagerLlama, IsDataParallel) {
  const TransformerSpec spec = llama(Implementation::TorchTitan);
  EXPECT_THROW((void)job_of(spec, {.tensor = 2}, {.ranks = 2}), std::invalid_argument);
  EXPECT_THROW(
      (void)job_of(llama(Implementation::Megatron), {.recompute = Recompute::Operators}, {.ranks = 1}),
      std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
