#include "ops/workload/layers/embedding_gradient.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

const Pointwise& work(const KernelCall& call) {
  return std::get<Pointwise>(call.work);
}

TEST(EmbeddingGradient, FewPicksFollowEachOther) {
  // 33 picks are two times 32 at most, of 13 loads each, whatever the row.
  EXPECT_EQ(work(kernels::add_picked_rows(33, 768, DataType::FP32)).chain, 26);
  EXPECT_EQ(work(kernels::add_picked_rows(33, 64, DataType::FP32)).chain, 26);
}

TEST(EmbeddingGradient, SortedPicksAreThirtyKernelsBesideTheZeros) {
  // pytorch_embedding.csv: 31 kernels with the fill.
  const auto sort = kernels::sort_picks(16384);
  const auto sums = kernels::add_sorted_rows(16384, 768, DataType::BF16);
  EXPECT_EQ(sort.size() + kernels::find_sorted_rows(16384).size() + sums.size(), 30U);
  const Pointwise& first = work(sums[sums.size() - 2]);
  EXPECT_EQ(first.elements, 16384 * 768);
  EXPECT_DOUBLE_EQ(first.writes, 2);  // sums of BF16 are FP32
  EXPECT_DOUBLE_EQ(work(sums.back()).reads, 2);
}

}  // namespace
}  // namespace lockstep
