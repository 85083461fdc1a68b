#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace lockstep {
namespace {

TEST(Random, IsTheSequenceOfSplitMix64) {
  // Two mixes away from the seed, the sequence itself is SplitMix64's; these bits must never change, since
  // every golden result with jitter depends on them. Computed independently with Python integers from the
  // definition.
  const Random random{42, "jitter"};
  EXPECT_EQ(random.bits(0), 0x37f260bbb61fdff9U);
  EXPECT_EQ(random.of(7).bits(3), 0xb059f46c2d62f8acU);
}

TEST(Random, DependsOnSeedNameMemberAndIndex) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    for (const char* name : {"", "a", "b", "ab", "ba"}) {
      for (std::uint64_t member = 0; member < 10; ++member) {
        for (std::uint64_t index = 0; index < 10; ++index) {
          seen.insert(Random{seed, name}.of(member).bits(index));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 3U * 5U * 10U * 10U);
}

TEST(Random, IsUniformInSixtyFourBins) {
  // Chi-square with 63 degrees of freedom: mean 63, standard deviation sqrt(126) = 11.2; 5 deviations
  // allowed.
  std::array<int, 64> bins{};
  constexpr int kDraws = 64 * 1000;
  const Random random{1, "bins"};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = random.uniform(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins.at(static_cast<std::size_t>(u * 64));
  }
  double chi_square = 0;
  for (const int count : bins) {
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_LT(std::abs(chi_square - 63), 5 * 11.2);
}

TEST(Random, MembersAreUncorrelated) {
  // The correlation of n independent pairs has standard deviation 1 / sqrt(n) = 0.01; 5 deviations allowed.
  const Random random{1, "ranks"};
  double sum = 0;
  constexpr int kPairs = 10'000;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    sum += (random.of(0).uniform(i) - 0.5) * (random.of(1).uniform(i) - 0.5) * 12;
  }
  EXPECT_LT(std::abs(sum / kPairs), 0.05);
}

}  // namespace
}  // namespace lockstep
