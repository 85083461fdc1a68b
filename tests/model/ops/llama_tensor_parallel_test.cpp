/// @file
/// torchtitan's tensor parallelism: what a layer gathers, scatters and reduces, in its eager and its compiled
/// form and with FP8.

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr double kTokens = 4096, kHidden = 2048, kFeedForward = 4096;
constexpr std::size_t kLayers = 4;

Job job(Compile compile, const TransformerPlanSpec& plan, Precision precision = Precision::BF16,
        std::int64_t batch = 1) {
  TransformerSpec spec = small_llama(Implementation::TorchTitan);
  spec.tied = false;
  return job_of(spec, plan,
                {.ranks = plan.tensor,
                 .batch = batch,
                 .precision = precision,
                 .framework = {.compile = compile, .compiled_loss = CompiledLoss::Eager}});
}

TransformerPlanSpec tensor(int ranks) {
  TransformerPlanSpec plan{.tensor = ranks, .sequence_parallel = ranks > 1};
  plan.sharding = Sharding::Zero3;
  plan.zero3_implementation = Zero3Implementation::Fsdp2;
  return plan;
}

std::size_t calls(const Job& of, CollectiveKind kind) {
  return collectives_of(of, 0, kind).size();
}

double bytes(const Job& of, CollectiveKind kind) {
  double sum = 0;
  for (const CollectiveCall& call : collectives_of(of, 0, kind)) {
    sum += call.size.in_base_units();
  }
  return sum;
}

double kept(const Job& of) {
  return of.memory.front()[MemoryUse::Activations];
}

class TensorParallelLlama : public ::testing::TestWithParam<Compile> {};

TEST_P(TensorParallelLlama, SharesProducts) {
  EXPECT_DOUBLE_EQ(flops(job(GetParam(), tensor(4))), flops(job(GetParam(), tensor(1))));
}

/// Attention and feed-forward layer each gather their input and scatter their sum, forward and backward;
/// before the layers the embedding scatters and its gradient is gathered, behind them the head the other way
/// round. Every one carries all tokens.
TEST_P(TensorParallelLlama, GathersOnceForAModule) {
  const Job two = job(GetParam(), tensor(2));
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    EXPECT_EQ(calls(two, kind), 4 * kLayers + 2);
    EXPECT_DOUBLE_EQ(bytes(two, kind), (4.0 * kLayers + 2) * 2 * kTokens * kHidden);
  }
  // Gradients of two gains a layer and the last one; greatest logit, sum and pick of the loss.
  EXPECT_EQ(calls(two, CollectiveKind::AllReduce), 2 * kLayers + 1 + 3);
}

/// Recomputation in full gathers and scatters again, but not what the last product leaves; by operator what
/// was scattered is kept.
TEST_P(TensorParallelLlama, ComputesAgain) {
  TransformerPlanSpec plan = tensor(2);
  plan.recompute = Recompute::Full;
  plan.recompute_early_stop = true;
  const Job full = job(GetParam(), plan);
  EXPECT_EQ(calls(full, CollectiveKind::AllGather), 6 * kLayers + 2);
  EXPECT_EQ(calls(full, CollectiveKind::ReduceScatter), 5 * kLayers + 2);
  plan.recompute = Recompute::Operators;
  const Job by_operator = job(GetParam(), plan);
  EXPECT_EQ(calls(by_operator, CollectiveKind::AllGather), 6 * kLayers + 2);
  EXPECT_EQ(calls(by_operator, CollectiveKind::ReduceScatter), 4 * kLayers + 2);
  EXPECT_GT(kept(by_operator), kept(full));
  EXPECT_LT(kept(by_operator), kept(job(GetParam(), tensor(2))));
}

/// Tokens of several samples are copied into the order of ranks, or back; one sample's are in it.
TEST_P(TensorParallelLlama, CopiesTokensOfSeveralSamples) {
  const auto copies = [](const Job& of) {
    return launches_of(of, "CatArray").size() + launches_of(of, "cat_split").size();
  };
  const bool is_eager = GetParam() == Compile::None;
  EXPECT_EQ(copies(job(GetParam(), tensor(2))), is_eager ? 0 : 2 * kLayers);  // the sums of gradients
  EXPECT_EQ(copies(job(GetParam(), tensor(2), Precision::BF16, 2)), 8 * kLayers + 4);
}

INSTANTIATE_TEST_SUITE_P(Forms, TensorParallelLlama, ::testing::Values(Compile::None, Compile::Inductor),
                         [](const auto& form) {
                           return form.param == Compile::None ? std::string{"eager"}
                                                              : std::string{"compiled"};
                         });

/// FP8 operands and gradients travel as bytes; the embedding's gradient, the head's input and what is summed
/// in 16 bits. Greatest magnitudes of four operands and seven gradients a layer are shared.
TEST(TensorParallelFloat8, GathersBytes) {
  const Job two = job(Compile::Inductor, tensor(2), Precision::FP8);
  EXPECT_DOUBLE_EQ(bytes(two, CollectiveKind::AllGather), (4.0 * kLayers + 2 * 2) * kTokens * kHidden);
  EXPECT_DOUBLE_EQ(bytes(two, CollectiveKind::ReduceScatter), (4.0 * kLayers + 2) * 2 * kTokens * kHidden);
  const std::size_t scales_of_weights = 1;
  EXPECT_EQ(calls(two, CollectiveKind::AllReduce), 11 * kLayers + 2 * kLayers + 1 + 3 + scales_of_weights);
}

/// torch.compile's micro-pipelines: two gathers and two sums of forward and the two gathers of backward go in
/// pieces, of which this rank has one already; the first two of a gather come together. Its own rows are
/// copied to where those go; each sum is added up by a kernel.
TEST(AsyncTensorParallelLlama, GoesInPieces) {
  TransformerPlanSpec plan = tensor(4);
  const Job whole = job(Compile::Inductor, plan);
  plan.tensor_overlap = true;
  const Job pieces = job(Compile::Inductor, plan);
  EXPECT_DOUBLE_EQ(flops(pieces), flops(whole));
  EXPECT_EQ(calls(pieces, CollectiveKind::AllGather), calls(whole, CollectiveKind::AllGather) + 4 * kLayers);
  EXPECT_EQ(launches_of(pieces, "Memcpy DtoD").size(),
            launches_of(whole, "Memcpy DtoD").size() + 4 * kLayers);
  EXPECT_EQ(calls(pieces, CollectiveKind::ReduceScatter),
            calls(whole, CollectiveKind::ReduceScatter) + 2 * kLayers * 2);
  EXPECT_DOUBLE_EQ(bytes(pieces, CollectiveKind::AllGather), bytes(whole, CollectiveKind::AllGather));
}

/// Products in pieces read tokens of several samples in the order of ranks; those of weights' gradients do
/// not: of recomputed inputs and of gradients a copy, as of those gradients' sums, which go whole.
TEST(AsyncTensorParallelLlama, CopiesForWeightGradients) {
  TransformerPlanSpec plan = tensor(2);
  plan.tensor_overlap = true;
  plan.recompute = Recompute::Full;
  const Job pieces = job(Compile::Inductor, plan, Precision::BF16, 2);
  EXPECT_EQ(launches_of(pieces, "cat_split").size(), 6 * kLayers);
  const Job bytes = job(Compile::Inductor, plan, Precision::FP8, 2);
  EXPECT_EQ(launches_of(bytes, "cat_split").size(), 2 * kLayers);
}

/// A rank keeps its share of the residual stream, and all tokens of what GEMMs read; log-probabilities are in
/// FP32.
TEST(TensorParallelLlama, KeepsGatheredOperands) {
  const double share = kTokens * kHidden / 2, inner = kTokens * kFeedForward / 2;
  const double logits = 4 * kTokens * 25152, head = 2 * 2 * share + 4 * share;
  const double layer = 2 * (2 * share + 4 * share + 2 * inner) + 2 * 2 * 2 * share;
  EXPECT_DOUBLE_EQ(kept(job(Compile::Inductor, tensor(2))), kLayers * layer + logits + head);
}

/// A stage of a pipeline gathers its layers once, the first and the last its table too, keeps them until its
/// last micro-batch and reduces gradients in that, those of tables when all of a pass are there
/// (fully_shard).
TEST(ShardedPipeline, KeepsWhatItGathered) {
  TransformerPlanSpec plan{.pipeline = 2, .reshard_after_forward = false, .reduce_each_micro_batch = false};
  plan.sharding = Sharding::Zero3;
  TransformerSpec spec = small_llama(Implementation::TorchTitan);
  spec.tied = false;
  for (const int micro_batches : {2, 6}) {
    const Job of =
        job_of(spec, plan, {.ranks = 4, .batch = 2 * micro_batches, .micro_batches = micro_batches});
    for (const std::size_t rank : {0U, 3U}) {
      EXPECT_EQ(collectives_of(of, rank, CollectiveKind::AllGather).size(), kLayers / 2 + 1);
      EXPECT_EQ(collectives_of(of, rank, CollectiveKind::ReduceScatter).size(), kLayers / 2 + 1);
    }
  }
}

/// Two chunks of a stage: what the embedding gathered is dropped once.
TEST(ShardedPipeline, Interleaves) {
  TransformerPlanSpec plan{.pipeline = 2,
                           .schedule = PipelineSchedule::Interleaved,
                           .chunks = 2,
                           .reshard_after_forward = false,
                           .reduce_each_micro_batch = false};
  plan.sharding = Sharding::Zero3;
  TransformerSpec spec = small_llama(Implementation::TorchTitan);
  spec.tied = false;
  const Job of = job_of(spec, plan, {.ranks = 4, .batch = 8, .micro_batches = 4});
  EXPECT_EQ(collectives_of(of, 0, CollectiveKind::AllGather).size(), kLayers / 2 + 1);
  EXPECT_EQ(flops(of), flops(job_of(spec, {}, {.ranks = 4, .batch = 8, .micro_batches = 2})));
}

}  // namespace
}  // namespace lockstep
