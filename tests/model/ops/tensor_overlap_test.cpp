/// @file
/// Tensor-parallel communication in pieces: the same arithmetic and bytes, more and smaller.

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

double sum_of_sizes(const std::vector<CollectiveCall>& calls) {
  double sum = 0;
  for (const CollectiveCall& call : calls) {
    sum += call.size.in_base_units();
  }
  return sum;
}

/// A layer gathers the operands of two column-parallel products forward and (whole) backward, and the
/// gradients of two row-parallel ones; it scatters two results forward and (whole) two gradients backward. Of
/// these 6 gathers and 4 scatters 4 and 2 go in 3 pieces on 4 ranks: 8 and 4 more. The head's are whole.
TEST(TensorOverlap, CutsAndKeepsTheSum) {
  const Batch run{.ranks = 4};
  TransformerPlanSpec plan{.tensor = 4, .sequence_parallel = true};
  const Job whole = job_of(gpt3(), plan, run);
  plan.tensor_overlap = true;
  const Job pieces = job_of(gpt3(), plan, run);
  EXPECT_DOUBLE_EQ(flops(pieces), flops(whole));
  const auto grown = [&](CollectiveKind kind) {
    const auto before = collectives_of(whole, 0, kind), after = collectives_of(pieces, 0, kind);
    EXPECT_NEAR(sum_of_sizes(after) / sum_of_sizes(before), 1, 1e-12);
    return after.size() - before.size();
  };
  EXPECT_EQ(grown(CollectiveKind::AllGather), 4U * 8);
  EXPECT_EQ(grown(CollectiveKind::ReduceScatter), 4U * 4);
}

}  // namespace
}  // namespace lockstep
