#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kTokens = 2048, kHidden = 12288;

/// Elements of the kernels that add a bias, by name, of a step of one layer.
std::vector<std::int64_t> additions(AttentionKernels attention, Precision precision) {
  TransformerSpec model = gpt3();
  model.layers = 1;
  model.dropout = false;
  model.attention = attention;
  const Job job = job_of(model, {}, {.precision = precision});
  const Program& program = *job.programs.front();
  std::vector<std::int64_t> elements;
  for (const Instruction& instruction : program.threads.front().instructions) {
    if (instruction.op != Opcode::Launch) continue;
    const KernelCall& call = program.kernels[instruction.operand];
    if (call.name == "elementwise_kernel<add>") elements.push_back(std::get<Pointwise>(call.work).elements);
  }
  return elements;
}

// Queries, keys and values have theirs added by a kernel, whose operand is one row for all tokens; gelu adds
// the feed-forward's first (skip_bias_add), the residual kernel those of both layers' results.
TEST(BiasAddition, IsAKernelBehindTheProductOfQueriesKeysAndValuesOnly) {
  EXPECT_THAT(additions(AttentionKernels::Unfused, Precision::BF16),
              ::testing::ElementsAre(kTokens * 3 * kHidden));
}

// Transformer Engine's products and FlashAttention's add it themselves.
TEST(BiasAddition, IsPartOfProductsElsewhere) {
  EXPECT_THAT(additions(AttentionKernels::Flash, Precision::BF16), ::testing::IsEmpty());
  EXPECT_THAT(additions(AttentionKernels::Unfused, Precision::FP8), ::testing::IsEmpty());
}

}  // namespace
}  // namespace lockstep
