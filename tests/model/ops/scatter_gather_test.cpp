/// @file
/// Messages between pipeline stages in shares of the tensor-parallel ranks (arXiv 2104.04473, section 4.1).

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

/// A stage in the middle of three, 2 micro-batches, forward and backward. A t-th of bsh in each message, and
/// for each one received an all-gather of the whole.
TEST(ScatterGather, SendsSharesAndGathersThem) {
  const Batch run{.ranks = 12, .batch = 2, .micro_batches = 2};
  TransformerPlanSpec plan{.tensor = 4, .pipeline = 3};
  const Job whole = job_of(gpt3(), plan, run);
  plan.scatter_gather = true;
  const Job shares = job_of(gpt3(), plan, run);
  EXPECT_DOUBLE_EQ(flops(shares), flops(whole));
  const std::size_t middle = 4;
  const auto of_whole = collectives_of(whole, middle, CollectiveKind::Send);
  const auto of_shares = collectives_of(shares, middle, CollectiveKind::Send);
  ASSERT_EQ(of_whole.size(), 2U * 2);
  ASSERT_EQ(of_shares.size(), of_whole.size());
  for (std::size_t i = 0; i < of_whole.size(); ++i) {
    EXPECT_DOUBLE_EQ(of_shares[i].size.in_base_units(), of_whole[i].size.in_base_units() / 4);
  }
  EXPECT_TRUE(collectives_of(whole, middle, CollectiveKind::AllGather).empty());
  const auto gathers = collectives_of(shares, middle, CollectiveKind::AllGather);
  ASSERT_EQ(gathers.size(), 2U * 2);
  EXPECT_DOUBLE_EQ(gathers.front().size.in_base_units(), of_whole.front().size.in_base_units());
}

/// Sequence-parallel ranks have shares anyway; one rank alone has all.
TEST(ScatterGather, ChangesNothingElsewhere) {
  const Batch run{.ranks = 12, .batch = 8, .micro_batches = 2};
  for (TransformerPlanSpec plan : {TransformerPlanSpec{.tensor = 4, .pipeline = 3, .sequence_parallel = true},
                                   TransformerPlanSpec{.pipeline = 3}}) {
    const Job before = job_of(gpt3(), plan, run);
    plan.scatter_gather = true;
    const Job after = job_of(gpt3(), plan, run);
    for (const CollectiveKind kind : {CollectiveKind::Send, CollectiveKind::AllGather}) {
      const auto old_calls = collectives_of(before, 4, kind), new_calls = collectives_of(after, 4, kind);
      ASSERT_EQ(old_calls.size(), new_calls.size());
      for (std::size_t i = 0; i < old_calls.size(); ++i) {
        EXPECT_DOUBLE_EQ(new_calls[i].size.in_base_units(), old_calls[i].size.in_base_units());
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
