/// @file
/// torchtitan's blocks behind torch.compile, and torchao's FP8 in them.

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr double kTokens = 4096, kHidden = 2048, kFeedForward = 4096, kLayers = 4, kVocabulary = 50304;
constexpr double kProducts = 4 * kHidden * kHidden + 3 * kHidden * kFeedForward;  // weights of a layer

TransformerSpec llama() {
  TransformerSpec spec = small_llama(Implementation::TorchTitan);
  spec.tied = false;
  return spec;
}

Batch run(Compile compile, Precision precision = Precision::BF16, int ranks = 1) {
  return {.ranks = ranks, .batch = ranks, .precision = precision, .framework = {.compile = compile}};
}

/// Activations at the peak of a step without its update, which has more states than this model activations.
double kept(const TransformerSpec& model, const TransformerPlanSpec& plan, Batch batch) {
  batch.phases = Phases::ForwardBackward;
  return job_of(model, plan, batch).memory.front()[MemoryUse::Activations];
}

Job eager(const TransformerPlanSpec& plan) {
  return job_of(llama(), plan, run(Compile::None));
}

Job compiled(const TransformerPlanSpec& plan) {
  return job_of(llama(), plan, run(Compile::Inductor));
}

Job float8(TransformerPlanSpec plan, int ranks = 1) {
  plan.sharding = Sharding::Zero3;
  plan.zero3_implementation = Zero3Implementation::Fsdp2;
  return job_of(llama(), plan, run(Compile::Inductor, Precision::FP8, ranks));
}

std::size_t launches(const Job& job, std::string_view name) {
  return launches_of(job, name).size();
}

/// Tensors of @p elements elements of 16 bits that the kernels of that name read and write together.
double passes(const Job& job, std::string_view name, double elements) {
  double sum = 0;
  for (const KernelCall& call : launches_of(job, name)) {
    const auto& work = std::get<Pointwise>(call.work);
    sum += (work.reads + work.writes) * static_cast<double>(work.elements) / elements;
  }
  return sum;
}

TEST(CompiledLlama, MultipliesWhatEagerBlocksDo) {
  const TransformerPlanSpec by_operator{.recompute = Recompute::Operators},
      full{.recompute = Recompute::Full, .recompute_early_stop = true};
  EXPECT_DOUBLE_EQ(flops(compiled({})), flops(eager({})));
  EXPECT_DOUBLE_EQ(flops(compiled(by_operator)), flops(eager(by_operator)));
  EXPECT_DOUBLE_EQ(flops(compiled(full)), flops(eager(full)));
}

/// Forward two norms, silu with its product and the last sum, rotated queries and keys cast to FP32 and back,
/// where eager PyTorch has 32 kernels. Complex numbers stay PyTorch's.
TEST(CompiledLlama, FusesWhatIsBetweenProducts) {
  Batch forward = run(Compile::Inductor);
  const Job job = job_of(llama(), {}, forward);
  EXPECT_EQ(launches(job, "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt"), 4U * 2);
  EXPECT_EQ(launches(job, "triton_poi_fused_silu_mul"), 4U * 2);  // and again in backward
  EXPECT_EQ(launches(job, "triton_poi_fused_silu_backward_mul"), 4U);
  EXPECT_EQ(launches(job, "complex_mul"), 4U * 4);
  EXPECT_EQ(launches(job, "rsqrt"), 4U * 2 + 1);  // the last norm is eager
}

/// Keys and values of 8 heads for 32: copied by the kernel that casts keys back and by one for values.
TEST(CompiledLlama, RepeatsSharedHeads) {
  TransformerSpec spec = llama();
  EXPECT_EQ(launches(compiled({}), "triton_poi_fused_expand"), 0U);
  spec.kv_heads = 8;
  const Job job = job_of(spec, {}, run(Compile::Inductor));
  EXPECT_EQ(launches(job, "triton_poi_fused_expand"), 4U);
  EXPECT_EQ(launches(job, "triton_poi_fused__to_copy_expand"), 4U);
}

/// A layer without recomputation keeps input, attention's result behind its GEMM, rotated queries and keys,
/// values and context, gate and up. With recomputation by operator: input, query, value, context and gate.
TEST(CompiledLlama, KeepsWhatProductsLeave) {
  const double row = 2 * kTokens * kHidden, wide = 2 * kTokens * kFeedForward;
  const double all = kept(llama(), {}, run(Compile::Inductor));
  EXPECT_DOUBLE_EQ(all - kept(llama(), {.recompute = Recompute::Operators}, run(Compile::Inductor)),
                   kLayers * (2 * row + wide));
  EXPECT_LT(all, kept(llama(), {}, run(Compile::None)));
}

/// Logits of 16 bits and one pass each way, where eager loss makes them FP32 and stores their log-softmax.
TEST(CompiledLlama, CompilesItsLoss) {
  Batch eager_loss = run(Compile::Inductor);
  eager_loss.framework.compiled_loss = CompiledLoss::Eager;
  const Job apart = job_of(llama(), {}, eager_loss), one = compiled({});
  EXPECT_EQ(launches(apart, "cunn_SoftMax"), 2U);
  EXPECT_EQ(launches(one, "cunn_SoftMax"), 0U);
  EXPECT_EQ(launches(one, "log_softmax"), 2U);
  EXPECT_DOUBLE_EQ(kept(llama(), {}, eager_loss) - kept(llama(), {}, run(Compile::Inductor)),
                   (4 - 2) * kTokens * kVocabulary);
}

TEST(CompiledLlama, IsNoZeroBubble) {
  const TransformerPlanSpec plan{.pipeline = 2, .schedule = PipelineSchedule::ZeroBubble};
  EXPECT_THROW((void)job_of(llama(), plan, run(Compile::Inductor, Precision::BF16, 2)),
               std::invalid_argument);
}

/// Three products of each weight; the head stays in BF16, as attention does.
TEST(Float8, IsWhatBlocksMultiplyIn) {
  const Job job = float8({});
  EXPECT_NEAR(flops(job, DataType::FP8) / (3 * 2 * kTokens * kLayers * kProducts), 1, 1e-12);
  EXPECT_NEAR(flops(job, DataType::BF16) / (3 * 2 * kTokens * kHidden * kVocabulary), 1, 1e-12);
}

/// Operands: the results of two norms, context and gate times up; gradients: of the layer, of gate and up
/// together, of attention's result, and of query, key and value. Each is searched for its greatest magnitude
/// once, though operands are cast again in backward.
TEST(Float8, FindsAScaleOfEachOperand) {
  const Job job = float8({});
  EXPECT_EQ(launches(job, "triton_poi_fused_abs_max"), 4U * (4 + 6));
  EXPECT_EQ(launches(job, "triton_poi_fused__to_copy_clamp_mul"), 4U * (4 + 4 + 6));
  const Job again = float8({.recompute = Recompute::Full, .recompute_early_stop = true});
  EXPECT_EQ(launches(again, "triton_poi_fused_abs_max"), 4U * (4 + 4 + 6));
}

/// In tensors of tokens x hidden, f = 2 of them for the feed-forward width. Forward: norms read 1 and 2 and
/// write a half, the context 1 and a half, gate times up (2 + 1/2) f. Backward the same once more by columns;
/// gradients both ways: layer's and attention's result's 2 + 1 each, gate and up (2 x 3 + 2) f, rotated query
/// and key in FP32 2 x 2 + 1 each, value 2 + 1.
TEST(Float8, ReadsTwiceWhatItCastsBothWays) {
  const double f = kFeedForward / kHidden;
  const double forward = 1.5 + 2.5 + 1.5 + 2.5 * f, gradients = 3 + 3 + 8 * f + 5 + 5 + 3;
  EXPECT_DOUBLE_EQ(passes(float8({}), "triton_poi_fused__to_copy_clamp_mul", kTokens * kHidden),
                   kLayers * (2 * forward + gradients));
}

/// Products' weights travel as bytes, norms' gains (and embedding and head) in BF16.
TEST(Float8, GathersBytes) {
  const auto gathered = [](const Job& job) {
    double sum = 0;
    for (const CollectiveCall& call : collectives_of(job, 0, CollectiveKind::AllGather)) {
      sum += call.size.in_base_units();
    }
    return sum;
  };
  const TransformerPlanSpec sharded{.sharding = Sharding::Zero3,
                                    .zero3_implementation = Zero3Implementation::Fsdp2};
  const Job wide = job_of(llama(), sharded, run(Compile::Inductor, Precision::BF16, 2));
  EXPECT_DOUBLE_EQ(gathered(wide) - gathered(float8({}, 2)), 2 * kLayers * kProducts);
}

TEST(Float8, NeedsCompiledShardedBlocks) {
  const TransformerPlanSpec sharded{.sharding = Sharding::Zero3};
  EXPECT_THROW((void)job_of(llama(), sharded, run(Compile::None, Precision::FP8)), std::invalid_argument);
  EXPECT_THROW((void)job_of(llama(), {}, run(Compile::Inductor, Precision::FP8)), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
