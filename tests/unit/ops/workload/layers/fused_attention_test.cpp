// Heads of sizes off 8 round FlashAttention's kernels.

#include "ops/workload/layers/fused_attention.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace lockstep {
namespace {

constexpr std::int64_t kHeads = 4, kKeyHeads = 2, kTokens = 256, kBatch = 3;

FlashAttention work(std::int64_t head_size, Direction direction, FlashVersion version = FlashVersion::Two) {
  return {.batch = kBatch,
          .heads = kHeads,
          .queries = kTokens,
          .keys = kTokens,
          .head_size = head_size,
          .direction = direction,
          .version = version};
}

std::vector<KernelCall> around(const FlashAttention& work, bool is_pytorch) {
  return with_padded_heads({{"flash", DataType::FP16, work}}, work, kKeyHeads, is_pytorch);
}

/// Elements of each kernel; 0: attention itself.
std::vector<std::int64_t> elements(const std::vector<KernelCall>& calls) {
  std::vector<std::int64_t> sizes;
  for (const KernelCall& call : calls) {
    const auto* pointwise = std::get_if<Pointwise>(&call.work);
    sizes.push_back(pointwise == nullptr ? 0 : pointwise->elements);
  }
  return sizes;
}

TEST(PaddedHeads, OfMultiplesOfEightAreLeft) {
  for (const Direction direction : {Direction::Forward, Direction::Backward}) {
    EXPECT_EQ(around(work(104, direction), true).size(), 1U);
  }
  EXPECT_EQ(around(work(108, Direction::Forward, FlashVersion::CuDnn), true).size(), 1U);
}

/// Zeros of 112 columns and a copy of 108 for each of queries, keys and values; the context's columns after.
TEST(PaddedHeads, ArePaddedBeforeForward) {
  const std::int64_t queries = kBatch * kHeads * kTokens, keys = kBatch * kKeyHeads * kTokens;
  const std::vector<std::int64_t> expected{112 * queries, 108 * queries, 112 * keys, 108 * keys,
                                           112 * keys,    108 * keys,    0,          108 * queries};
  EXPECT_EQ(elements(around(work(108, Direction::Forward), false)), expected);
  EXPECT_EQ(elements(around(work(108, Direction::Forward), true)), expected);
}

/// The gradient of the context before; PyTorch copies the gradients of all three out.
TEST(PaddedHeads, HaveTheirGradientsCopiedOutByPyTorch) {
  const std::int64_t queries = kBatch * kHeads * kTokens, keys = kBatch * kKeyHeads * kTokens;
  std::vector<std::int64_t> expected{152 * queries, 150 * queries, 0};
  EXPECT_EQ(elements(around(work(150, Direction::Backward), false)), expected);
  expected.insert(expected.end(), {150 * queries, 150 * keys, 150 * keys});
  EXPECT_EQ(elements(around(work(150, Direction::Backward), true)), expected);
}

}  // namespace
}  // namespace lockstep
