/// @file
/// What moves a mixture's tokens in memory, against counts of rows.

#include "ops/workload/parallel/token_permutation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kTokens = 1024, kHidden = 512;

/// One layer; each rank has a sequence of 1024 tokens, of which two copies go to two of eight experts.
TransformerSpec mixture(bool fused) {
  TransformerSpec spec = gpt3();
  spec.layers = 1;
  spec.hidden = kHidden;
  spec.heads = 8;
  spec.sequence = spec.positions = kTokens;
  spec.dropout = false;
  spec.experts = ExpertsSpec{.count = 8, .per_token = 2, .feed_forward = 1024, .fused_permutation = fused};
  return spec;
}

Job job_of_ranks(bool fused, int ranks, const TransformerPlanSpec& plan) {
  return job_of(mixture(fused), plan, {.ranks = ranks, .batch = ranks});
}

/// Kernels that rank 0 launches within operators of that name.
std::vector<KernelCall> launched_in(const Job& job, std::string_view name) {
  const RankAssignment& rank = job.ranks.front();
  const Program& program = *job.programs[rank.program];
  std::vector<KernelCall> calls;
  for (const Program::Thread& thread : program.threads) {
    std::vector<std::string_view> open;
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::RangeBegin) {
        open.push_back(program.names[instruction.operand]);
      } else if (instruction.op == Opcode::RangeEnd) {
        open.pop_back();
      } else if (instruction.op == Opcode::Launch && !open.empty() && open.back() == name) {
        calls.push_back(program.kernels[instruction.per_rank ? rank.kernel_slots[instruction.operand]
                                                             : instruction.operand]);
      }
    }
  }
  return calls;
}

/// Rows of a token that element-wise kernels of an operator read and write, over the tokens.
double rows_moved(const Job& job, std::string_view name) {
  double elements = 0;
  for (const KernelCall& call : launched_in(job, name)) {
    if (const auto* work = std::get_if<Pointwise>(&call.work)) {
      elements += (work->reads + work->writes) * static_cast<double>(work->elements);
    }
  }
  return elements / static_cast<double>(kTokens * kHidden);
}

/// A token is read once for its two copies; two copies are read for their sum, and for the gradients of the
/// probabilities the token's gradient and both results.
TEST(TokenPermutation, FusedReadsATokenOnce) {
  const Job job = job_of_ranks(true, 4, {.expert = 4});
  EXPECT_DOUBLE_EQ(rows_moved(job, "permute"), 1 + 2);
  EXPECT_DOUBLE_EQ(rows_moved(job, "unpermute"), 2 + 1);
  EXPECT_DOUBLE_EQ(rows_moved(job, "unpermute_backward"), 1 + 2 + 2);
  EXPECT_DOUBLE_EQ(rows_moved(job, "permute_backward"), 2 + 1);
}

/// Two copies are read and written by index_select; multiplied (read, written), added to what is read and
/// written there, which was zeroed (one row) before; backward gathers, multiplies twice and sums a product.
TEST(TokenPermutation, OfPyTorchsOperatorsPassesOverCopiesAgain) {
  const Job job = job_of_ranks(false, 4, {.expert = 4});
  EXPECT_DOUBLE_EQ(rows_moved(job, "permute"), 2 * 2);
  EXPECT_DOUBLE_EQ(rows_moved(job, "unpermute"), 2 * 2 + 1 + 2 * 3);
  EXPECT_DOUBLE_EQ(rows_moved(job, "unpermute_backward"), 2 * 2 + 2 * 2 + 2 * 3);
  EXPECT_DOUBLE_EQ(rows_moved(job, "permute_backward"), 1 + 2 * 3);
  const std::vector<KernelCall> backward = launched_in(job, "unpermute_backward");
  const auto* sum = std::get_if<Reduction>(&backward.back().work);
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->rows * sum->columns, 2 * kTokens * kHidden);
}

/// Tokens for two experts of a rank are put in their order and back, read and written; for one expert they
/// are in order. Ranks that share their experts' GEMMs have the tokens of each other too.
TEST(TokenPermutation, SortsTokensOfSeveralExpertsOfARank) {
  const Job two = job_of_ranks(true, 4, {.expert = 4});
  EXPECT_DOUBLE_EQ(rows_moved(two, "sort_chunks_by_idxs"), 2 * (2 + 2));  // before the products and behind
  EXPECT_DOUBLE_EQ(rows_moved(two, "sort_chunks_by_idxs_backward"), 2 * (2 + 2));
  const std::vector<KernelCall> pieces =
      launched_in(job_of_ranks(false, 4, {.expert = 4}), "sort_chunks_by_idxs");
  EXPECT_TRUE(std::holds_alternative<Concat>(pieces.at(0).work));  // torch.cat
  const Job one = job_of_ranks(true, 8, {.expert = 8});
  EXPECT_TRUE(launched_in(one, "sort_chunks_by_idxs").empty());
  EXPECT_TRUE(launched_in(one, "sort_chunks_by_idxs_backward").empty());
  const Job shared = job_of_ranks(true, 8, {.expert = 4, .expert_tensor = 2});
  EXPECT_DOUBLE_EQ(rows_moved(shared, "sort_chunks_by_idxs"), 2 * 2 * (2 + 2));
}

}  // namespace
}  // namespace lockstep
