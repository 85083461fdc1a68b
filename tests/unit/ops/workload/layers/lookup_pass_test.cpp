#include "ops/workload/layers/lookup_pass.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

Pointwise work_of(const LookupPass& pass, std::int64_t lookups, std::int64_t bags) {
  return std::get<Pointwise>(pass_over(pass, lookups, bags).work);
}

TEST(LookupPass, WaitsForItsChainHoweverFewLookUpsThereAre) {
  EXPECT_EQ(work_of(lookup_pass::kReduceByKey, 1, 1).chain, lookup_pass::kReduceByKey.chain);
  EXPECT_EQ(work_of(lookup_pass::kReduceByKey, 1'000'000, 1000).chain, lookup_pass::kReduceByKey.chain);
}

/// A warp has 32 bags, one after the other, and takes 32 lookups of a bag at a time: three loads each.
TEST(LookupPass, GoesThroughTheBagsOfAWarp) {
  const LookupPass& pass = lookup_pass::kLinearizeIndex;
  EXPECT_EQ(work_of(pass, 8, 8).chain, 3 * 8);
  EXPECT_EQ(work_of(pass, 384 * 32, 384).chain, 3 * 32);
  EXPECT_EQ(work_of(pass, 384 * 33, 384).chain, 3 * 32 * 2);
  EXPECT_EQ(work_of(pass, 0, 0).chain, 0);
}

}  // namespace
}  // namespace lockstep
