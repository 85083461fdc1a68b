/// @file
/// Hugging Face's Llama: kernels of its rotations, attention, loss and optimizer, by PyTorch's source.

#include <gtest/gtest.h>

#include "ops/workload/parallel/module_hooks.hpp"
#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr double kTokens = 4096, kHeads = 32, kLayers = 4;

TransformerSpec llama() {
  TransformerSpec spec = small_llama(Implementation::HuggingFaceLlama);
  spec.tied = false;
  return spec;
}

Job alone(const TransformerSpec& spec, std::int64_t batch = 1) {
  return job_of(spec, {}, {.ranks = 1, .batch = batch});
}

std::size_t launches(const Job& job, std::string_view name) {
  return launches_of(job, name).size();
}

TEST(HuggingFaceLlama, MultipliesWhatMetasDoes) {
  TransformerSpec metas = llama();
  metas.implementation = Implementation::TorchTitan;
  EXPECT_DOUBLE_EQ(flops(alone(llama())), flops(alone(metas)));
}

/// x cos + rotate_half(x) sin: of queries and keys one negation forward and one backward, halves of which
/// backward copies into zeros.
TEST(HuggingFaceLlama, RotatesByHalves) {
  const Job job = alone(llama());
  EXPECT_EQ(launches(job, "complex_mul"), 0U);
  EXPECT_EQ(launches(job, "<neg>"), 4U * 2 * 2);
  EXPECT_EQ(launches(job, "CatArrayBatchedCopy"), 4U * 2 + 1);  // the table of positions
  EXPECT_EQ(launches(job, "<cos>"), 1U);
}

TEST(HuggingFaceLlama, RepeatsSharedHeadsWhereAttentionAsksForThem) {
  TransformerSpec spec = llama();
  spec.kv_heads = 8;
  const std::size_t repeated = launches(alone(spec), "vectorized_elementwise_kernel<sum>");
  spec.repeats_kv_heads = false;
  EXPECT_EQ(repeated - launches(alone(spec), "vectorized_elementwise_kernel<sum>"), 4U * 2);
}

/// Softmax of the scores, which it keeps in FP32 and in 16 bits.
TEST(HuggingFaceLlama, AttendsWithoutFusion) {
  TransformerSpec spec = llama();
  const double fused = alone(spec).memory.front()[MemoryUse::Activations];
  spec.attention = AttentionKernels::Unfused;
  const Job job = alone(spec);
  EXPECT_EQ(launches(job, "flash"), 0U);
  EXPECT_EQ(launches(job, "softmax_warp_forward"), 4U);
  EXPECT_EQ(launches(job, "softmax_warp_backward"), 4U);
  EXPECT_DOUBLE_EQ(job.memory.front()[MemoryUse::Activations] - fused,
                   kLayers * kHeads * kTokens * kTokens * 6);
}

/// cuDNN's backward is three kernels, and two more that sum gradients of shared heads, as PyTorch 2.11's
/// profiler lists it on an H100; keys and values are not repeated.
TEST(HuggingFaceLlama, AttendsByCudnn) {
  TransformerSpec spec = llama();
  spec.attention = AttentionKernels::CuDnn;
  EXPECT_EQ(launches(alone(spec), "fmha_reduce_head"), 0U);
  spec.kv_heads = 8;
  spec.repeats_kv_heads = false;
  const Job job = alone(spec);
  EXPECT_EQ(launches(job, "flash_fwd_kernel"), 0U);
  EXPECT_EQ(launches(job, "cudnn_sdpa_flash_fprop"), 4U);
  for (const char* const kernel : {"compute_dot_do_o", "cudnn_sdpa_flash_bprop", "convert_dq"}) {
    EXPECT_EQ(launches(job, kernel), 4U) << kernel;
  }
  EXPECT_EQ(launches(job, "fmha_reduce_head"), 2U * 4);
}

/// Logits of several samples are copied in FP32 when they are shifted, and not when labels are (4.50).
TEST(HuggingFaceLlama, ShiftsLogitsInFp32) {
  TransformerSpec spec = llama();
  const std::size_t shifted = launches(alone(spec, 2), "elementwise_kernel<copy>");
  spec.shifts_logits = false;
  EXPECT_EQ(shifted - launches(alone(spec, 2), "elementwise_kernel<copy>"), 4U);
}

/// A logit has three numbers in FP32 at a time in the loss's backward: log-probability, its gradient, and
/// that of the logit.
TEST(HuggingFaceLlama, HasTwelveBytesOfALogit) {
  TransformerSpec spec = llama();
  spec.layers = 1;
  spec.hidden = 64;
  spec.heads = 1;
  spec.feed_forward = 64;
  const double logits = kTokens * 50304;
  const double peak = alone(spec).memory.front().total().in_base_units();
  EXPECT_NEAR(peak / logits, 12, 0.7);  // and tables of 64 columns
}

/// torch.optim's AdamW on FSDP's shares, one kernel on DeepSpeed's flat partition.
TEST(HuggingFaceLlama, IsUpdatedByTheFrameworkThatSharesIt) {
  const Batch two{.ranks = 2, .batch = 2};
  const Job deepspeed = job_of(llama(), {.sharding = Sharding::Zero3}, two);
  const Job fsdp =
      job_of(llama(), {.sharding = Sharding::Zero3, .zero3_implementation = Zero3Implementation::Fsdp}, two);
  EXPECT_GT(launches(deepspeed, "fused_adamw"), 0U);
  EXPECT_EQ(launches(fsdp, "fused_adamw"), 0U);
  EXPECT_GT(launches(fsdp, "multi_tensor_apply_kernel<addcdiv>"), 0U);
}

constexpr Batch kPure{.ranks = 2, .batch = 2, .mixed = MixedPrecision::Pure};

/// Two bytes each of a parameter, its gradient and two moments, and an update without a copy of masters.
TEST(HuggingFaceLlama, IsInSixteenBitsThroughout) {
  const Job job = job_of(llama(), {}, kPure);
  const MemoryBreakdown& memory = job.memory.front();
  const double parameters = memory[MemoryUse::Parameters];
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Optimizer], 2 * parameters);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Gradients], parameters);
  EXPECT_EQ(launches(job, "multi_tensor_apply_kernel<copy>"), 0U);
  EXPECT_EQ(launches_of(job, "multi_tensor_apply_kernel<addcdiv>").front().type, DataType::BF16);
  EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::AllReduce), parameters);
}

/// FSDP's shares are not cast before they are gathered; what is reduced in FP32 (reduce_dtype) becomes BF16.
TEST(HuggingFaceLlama, SharesWhatIsInSixteenBits) {
  TransformerPlanSpec plan{.sharding = Sharding::Zero3, .zero3_implementation = Zero3Implementation::Fsdp2};
  const Job wide = job_of(llama(), plan, kPure);
  EXPECT_EQ(launches(wide, "multi_tensor_apply_kernel<copy>"), 0U);
  plan.fp32_gradients = false;
  const Job narrow = job_of(llama(), plan, kPure);
  EXPECT_DOUBLE_EQ(bytes_communicated(wide, CollectiveKind::ReduceScatter),
                   2 * bytes_communicated(narrow, CollectiveKind::ReduceScatter));
  const auto optimizer = [](const Job& job) { return job.memory.front()[MemoryUse::Optimizer]; };
  const Job masters = job_of(llama(), plan, {.ranks = kPure.ranks, .batch = kPure.batch});
  EXPECT_DOUBLE_EQ(optimizer(masters) / optimizer(narrow), 3);
}

/// Round each of 13 modules of a layer, before and behind forward, what is recomputed, and backward; an
/// adapter is four modules more. FSDP has none.
TEST(HuggingFaceLlama, CallsDeepSpeedsHooks) {
  const auto seconds = [](const TransformerSpec& spec, std::optional<Zero3Implementation> copies) {
    const TransformerPlanSpec plan{
        .sharding = Sharding::Zero3, .zero3_implementation = copies, .recompute = Recompute::Full};
    return host_seconds(job_of(spec, plan, {.ranks = 2, .batch = 2}), kModuleHooks);
  };
  const double hook = ModuleHooks::kHook * plain_host().between_operators.in_base_units();
  EXPECT_NEAR(seconds(llama(), Zero3Implementation::DeepSpeed), kLayers * 13 * 6 * hook, 1e-9);
  EXPECT_EQ(seconds(llama(), Zero3Implementation::Fsdp2), 0);
  TransformerSpec adapted = llama();
  adapted.lora = LoraSpec{.rank = 8, .target_modules = {LoraModule::QProj, LoraModule::VProj}};
  EXPECT_NEAR(seconds(adapted, std::nullopt), kLayers * (13 + 8) * 6 * hook, 1e-9);
}

}  // namespace
}  // namespace lockstep
