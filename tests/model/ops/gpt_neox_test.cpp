/// @file
/// What GPT-NeoX's layers and the DeepSpeed under them do besides what Megatron-LM does.

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kTokens = 2048, kHidden = 12288, kLayers = 4;

TransformerSpec neox() {
  TransformerSpec spec = gpt3();
  spec.residual = Residual::Parallel;
  spec.attention = AttentionKernels::Flash1Cuda;
  spec.dropout = false;
  return spec;
}

std::size_t launches(const Job& job, std::string_view name) {
  return launches_of(job, name).size();
}

double sent(const Job& job, CollectiveKind kind) {
  const std::vector<CollectiveCall> calls = collectives_of(job, 0, kind);
  return std::accumulate(calls.begin(), calls.end(), 0.0, [](double sum, const CollectiveCall& call) {
    return sum + call.size.in_base_units();
  });
}

std::size_t device_waits(const Job& job) {
  std::size_t waits = 0;
  for (const Program::Thread& thread : job.programs.front()->threads) {
    for (const Instruction& instruction : thread.instructions) {
      waits += instruction.op == Opcode::WaitDevice ? 1 : 0;
    }
  }
  return waits;
}

/// Attention's bias and that of the feed-forward layer, and a sum of the two: three kernels in place of two.
TEST(BiasDropoutFusion, ElseEachOperatorIsAKernel) {
  TransformerSpec spec = neox();
  const Job fused = job_of(spec, {}, {.ranks = 1});
  spec.bias_dropout_fusion = false;
  const Job apart = job_of(spec, {}, {.ranks = 1});
  EXPECT_EQ(launches(fused, "<bias_dropout_add>"), 2U * kLayers);
  EXPECT_EQ(launches(apart, "<bias_dropout_add>"), 0U);
  EXPECT_EQ(launches(apart, "<add>"), launches(fused, "<add>") + 3U * kLayers);
}

/// One sample's order of tokens is that of samples: only three tensors have to be put together, and their
/// gradients.
TEST(PacksQkv, CopiesWhereThereAreSeveralSamples) {
  const auto copies = [](std::int64_t batch, bool packs, std::string_view name) {
    TransformerSpec spec = neox();
    spec.packs_qkv = packs;
    return launches(job_of(spec, {}, {.ranks = 1, .batch = batch}), name);
  };
  const auto more = [&](std::int64_t batch, std::string_view name) {
    return copies(batch, true, name) - copies(batch, false, name);
  };
  EXPECT_EQ(more(1, "CatArrayBatchedCopy"), 2U * kLayers);
  EXPECT_EQ(more(2, "CatArrayBatchedCopy"), 2U * kLayers);
  EXPECT_EQ(more(1, "<copy>"), 0U);
  EXPECT_EQ(more(2, "<copy>"), 5U * kLayers);  // three and the context, and the context's gradient
}

/// All gradients reach all ranks, and are copied into one tensor and back.
TEST(ReduceScatter, ElseAllRanksGetAllSums) {
  const Batch run{.ranks = 4, .batch = 4, .precision = Precision::FP16};
  TransformerPlanSpec plan{.sharding = Sharding::Zero1, .overlap_gradients = false, .fp32_gradients = false};
  const Job shares = job_of(neox(), plan, run);
  plan.reduce_scatter = false;
  const Job whole = job_of(neox(), plan, run);
  const double gradients = sent(shares, CollectiveKind::ReduceScatter);
  EXPECT_GT(gradients, 0);
  EXPECT_DOUBLE_EQ(sent(whole, CollectiveKind::ReduceScatter), 0);
  EXPECT_NEAR(sent(whole, CollectiveKind::AllReduce) - sent(shares, CollectiveKind::AllReduce), gradients,
              1e-9 * gradients);
  EXPECT_DOUBLE_EQ(sent(whole, CollectiveKind::AllGather), sent(shares, CollectiveKind::AllGather));
  EXPECT_EQ(launches(whole, "CatArrayBatchedCopy"), launches(shares, "CatArrayBatchedCopy") + 2);
}

/// Before and behind each layer, forward and backward.
TEST(RecomputeSynchronize, WaitsAtEachBoundary) {
  TransformerPlanSpec plan{.recompute = Recompute::Full};
  const std::size_t others = device_waits(job_of(neox(), plan, {.ranks = 1}));
  plan.recompute_synchronize = true;
  EXPECT_EQ(device_waits(job_of(neox(), plan, {.ranks = 1})), others + 4U * kLayers);
}

/// Shares are kept in place of a whole input, and gathered for backward; alone, the whole is copied.
TEST(PartitionActivations, KeepsSharesOfInputs) {
  TransformerPlanSpec plan{.tensor = 2, .recompute = Recompute::Full};
  const Job whole = job_of(neox(), plan, {.ranks = 2});
  plan.partition_activations = true;
  const Job shares = job_of(neox(), plan, {.ranks = 2});
  const double input = 2.0 * kTokens * kHidden;
  EXPECT_NEAR(sent(shares, CollectiveKind::AllGather) - sent(whole, CollectiveKind::AllGather),
              kLayers * input, 1e-9 * input);
  EXPECT_NEAR(whole.memory.front()[MemoryUse::Activations] - shares.memory.front()[MemoryUse::Activations],
              kLayers * input / 2, 1e-9 * input);

  TransformerPlanSpec alone{.recompute = Recompute::Full};
  const Job kept = job_of(neox(), alone, {.ranks = 1});
  alone.partition_activations = true;
  const Job copied = job_of(neox(), alone, {.ranks = 1});
  EXPECT_EQ(launches(copied, "Memcpy DtoD"), launches(kept, "Memcpy DtoD") + 4U * kLayers);
}

}  // namespace
}  // namespace lockstep
