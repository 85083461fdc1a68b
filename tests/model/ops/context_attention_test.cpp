/// @file
/// PyTorch's context parallelism, as torchtitan uses it: pieces of attention, what travels and what is
/// merged.

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr int kRanks = 4;
constexpr std::size_t kLayers = 4, kTurns = kRanks;
constexpr double kTokens = 4096.0 / kRanks, kHidden = 2048;
constexpr double kKeys = 2 * kTokens * kHidden;  // with the values, of one rank

Job job(Compile compile, int context, ContextAttention attention = ContextAttention::AllGather) {
  TransformerSpec spec = small_llama(Implementation::TorchTitan);
  spec.tied = false;
  TransformerPlanSpec plan{.context = context, .context_attention = attention};
  plan.sharding = Sharding::Zero3;
  plan.zero3_implementation = Zero3Implementation::Fsdp2;
  return job_of(spec, plan,
                {.ranks = context, .framework = {.compile = compile, .compiled_loss = CompiledLoss::Eager}});
}

/// Pairs of a query and a key that it sees.
double pairs(const Job& of, std::string_view kernel) {
  double sum = 0;
  for (const KernelCall& call : launches_of(of, kernel)) {
    const auto& work = std::get<FlashAttention>(call.work);
    sum += static_cast<double>(work.queries) * static_cast<double>(work.keys) * (work.causal ? 0.5 : 1);
  }
  return sum;
}

class TorchContextAttention : public ::testing::TestWithParam<Compile> {};

/// Each rank does its share of the arithmetic, in as many calls as there are ranks, one of them causal.
TEST_P(TorchContextAttention, SharesArithmetic) {
  const Job one = job(GetParam(), 1), four = job(GetParam(), kRanks);
  for (const char* kernel : {"flash_fwd_kernel", "flash_bwd_kernel"}) {
    EXPECT_DOUBLE_EQ(pairs(four, kernel), pairs(one, kernel) / kRanks) << kernel;
    EXPECT_EQ(launches_of(four, kernel).size(), kLayers * kTurns) << kernel;
  }
}

/// Gradients of keys and values go all the way round, in FP32; keys and values, in 16 bits, are gathered once
/// forward and once backward, or go to the last rank but one.
TEST_P(TorchContextAttention, SendsGradientsRound) {
  const double gradients = kLayers * kTurns * 4 * kKeys;
  const Job gathered = job(GetParam(), kRanks);
  EXPECT_DOUBLE_EQ(bytes_communicated(gathered, CollectiveKind::Send), gradients);
  EXPECT_DOUBLE_EQ(bytes_communicated(gathered, CollectiveKind::Receive), gradients);
  const Job ring = job(GetParam(), kRanks, ContextAttention::Ring);
  EXPECT_DOUBLE_EQ(bytes_communicated(ring, CollectiveKind::Send),
                   gradients + 2 * kLayers * (kTurns - 1) * 2 * kKeys);
  EXPECT_DOUBLE_EQ(bytes_communicated(gathered, CollectiveKind::AllGather) -
                       bytes_communicated(ring, CollectiveKind::AllGather),
                   2 * kLayers * kTurns * 2 * kKeys);
}

INSTANTIATE_TEST_SUITE_P(Forms, TorchContextAttention, ::testing::Values(Compile::None, Compile::Inductor),
                         [](const auto& form) {
                           return form.param == Compile::None ? std::string{"eager"}
                                                              : std::string{"compiled"};
                         });

/// Behind torch.compile each result but the first is merged by one kernel; in eager mode by two differences
/// of whole results, a product and casts.
TEST(TorchContextMerge, MergesResults) {
  const Job compiled = job(Compile::Inductor, kRanks), eager = job(Compile::None, kRanks);
  EXPECT_EQ(launches_of(compiled, "cat_mul_sigmoid_sub").size(), kLayers * (kTurns - 1));
  EXPECT_EQ(launches_of(eager, "log_sigmoid").size(), kLayers * (kTurns - 1));
  EXPECT_TRUE(launches_of(job(Compile::Inductor, 1), "cat_mul_sigmoid_sub").empty());
}

}  // namespace
}  // namespace lockstep
