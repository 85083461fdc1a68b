/// @file
/// Attention and feed-forward layer beside each other, and rotation of a part of each head (GPT-NeoX).

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr double kTokens = 2048, kHidden = 12288, kLayers = 4, kBytes = 2;

TransformerSpec neox(Residual residual) {
  TransformerSpec spec = gpt3();
  spec.residual = residual;
  return spec;
}

Job on_two(Residual residual) {
  return job_of(neox(residual), {.tensor = 2}, {.ranks = 2});
}

double kept(const Job& job) {
  return job.memory.front()[MemoryUse::Activations];
}

std::size_t launches(const Job& job, std::string_view name) {
  return launches_of(job, name).size();
}

TEST(ParallelResidual, MultipliesTheSame) {
  EXPECT_DOUBLE_EQ(flops(on_two(Residual::Serial)), flops(on_two(Residual::Parallel)));
  EXPECT_DOUBLE_EQ(flops(on_two(Residual::Serial)), flops(on_two(Residual::ParallelOneNorm)));
}

/// Forward sums over the ranks once a layer, backward twice as ever.
TEST(ParallelResidual, SumsOnceForward) {
  const auto sums = [](Residual residual) {
    return collectives_of(on_two(residual), 0, CollectiveKind::AllReduce).size();
  };
  EXPECT_EQ(sums(Residual::Serial) - sums(Residual::Parallel), 4U);
  EXPECT_EQ(sums(Residual::Parallel), sums(Residual::ParallelOneNorm));
}

TEST(ParallelResidual, SharesANorm) {
  EXPECT_EQ(launches(on_two(Residual::Parallel), "ln_fwd"), 4U * 2 + 1);
  EXPECT_EQ(launches(on_two(Residual::ParallelOneNorm), "ln_fwd"), 4U + 1);
}

/// The input of both norms is one tensor, and there may be one result.
TEST(ParallelResidual, KeepsTheInputOnce) {
  const double tensor = kLayers * kBytes * kTokens * kHidden;
  EXPECT_DOUBLE_EQ(kept(on_two(Residual::Serial)) - kept(on_two(Residual::Parallel)), tensor);
  EXPECT_DOUBLE_EQ(kept(on_two(Residual::Parallel)) - kept(on_two(Residual::ParallelOneNorm)), tensor);
}

/// A quarter of queries and keys is negated by halves, in forward and backward.
TEST(RotaryShare, IsWhatOperatorsRotate) {
  TransformerSpec spec = gpt3();
  spec.position_encoding = PositionEncoding::Rotary;
  EXPECT_EQ(launches(job_of(spec, {}, {.ranks = 1}), "<rotary>"), 4U * 4);
  spec.fused_rotary = false;
  spec.rotary_share = 0.25;
  const Job job = job_of(spec, {}, {.ranks = 1});
  EXPECT_EQ(launches(job, "<rotary>"), 0U);
  const std::vector<KernelCall> negations = launches_of(job, "<neg>");
  ASSERT_EQ(negations.size(), 4U * 4);
  EXPECT_EQ(std::get<Pointwise>(negations.front().work).elements, std::int64_t{2048} * 12288 / 8);
}

/// A Llama in Megatron-LM's local layers of 2023, which keep what torchtitan's eager ones do.
TEST(UnfusedLayers, AreOperatorsOfPyTorch) {
  TransformerSpec spec = small_llama(Implementation::Megatron);
  spec.norm_kernels = NormKernels::Operators;
  spec.fused_activation = spec.fused_rotary = false;
  const Job job = job_of(spec, {}, {.ranks = 1});
  EXPECT_EQ(launches(job, "rms_norm"), 0U);
  EXPECT_EQ(launches(job, "rsqrt"), 4U * 2 + 1);
  EXPECT_EQ(launches(job, "swiglu"), 0U);
  EXPECT_EQ(launches(job, "<silu>"), 4U);
  EXPECT_EQ(launches(job, "<rotary>"), 0U);
  TransformerSpec eager = small_llama(Implementation::TorchTitan);
  eager.tied = spec.tied;
  EXPECT_DOUBLE_EQ(kept(job), kept(job_of(eager, {}, {.ranks = 1})));
}

}  // namespace
}  // namespace lockstep
