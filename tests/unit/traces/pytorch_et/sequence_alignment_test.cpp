#include "traces/pytorch_et/sequence_alignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lockstep::testing {
namespace {

using pytorch_et::aligned;
using pytorch_et::Symbol;
using Sequence = std::vector<Symbol>;

/// The longest common subsequence's length, by the table that everybody knows.
std::size_t longest(const Sequence& left, const Sequence& right) {
  std::vector<std::vector<std::size_t>> best(left.size() + 1, std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i < left.size(); ++i) {
    for (std::size_t j = 0; j < right.size(); ++j) {
      best[i + 1][j + 1] = left[i] == right[j] ? best[i][j] + 1 : std::max(best[i][j + 1], best[i + 1][j]);
    }
  }
  return best[left.size()][right.size()];
}

void expect_alignment(const Sequence& left, const Sequence& right) {
  const auto pairs = aligned(left, right);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_EQ(left[pairs[i].first], right[pairs[i].second]);
    if (i > 0) {
      ASSERT_LT(pairs[i - 1].first, pairs[i].first);
      ASSERT_LT(pairs[i - 1].second, pairs[i].second);
    }
  }
  EXPECT_EQ(pairs.size(), longest(left, right));
}

TEST(SequenceAlignment, FindsALongestCommonSubsequence) {
  std::mt19937 random{7};
  for (int trial = 0; trial < 400; ++trial) {
    const auto sequence = [&] {
      Sequence made(random() % 40);
      for (Symbol& symbol : made) {
        symbol = random() % (1 + trial % 9);
      }
      return made;
    };
    expect_alignment(sequence(), sequence());
  }
}

TEST(SequenceAlignment, EmptyAndEqualSequences) {
  expect_alignment({}, {});
  expect_alignment({1}, {});
  expect_alignment({1, 2, 3}, {1, 2, 3});
  expect_alignment({1, 2, 3}, {4, 5});
}

// More to skip than a search looks for: the result need not be a longest, but is still an alignment that
// finds the long common run at the end.
TEST(SequenceAlignment, GoesOnWhereTheSearchIsCutShort) {
  std::mt19937 random{11};
  Sequence left(12'000);
  Sequence right(12'000);
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = random() % 1000;
    right[i] = random() % 1000;
  }
  for (Symbol i = 0; i < 500; ++i) {
    left.push_back(5000 + i);
    right.push_back(5000 + i);
  }
  const auto pairs = aligned(left, right);
  ASSERT_GE(pairs.size(), 500);
  EXPECT_EQ(pairs.back(), std::pair(left.size() - 1, right.size() - 1));
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    ASSERT_EQ(left[pairs[i].first], right[pairs[i].second]);
    ASSERT_LT(pairs[i - 1].second, pairs[i].second);
  }
}

}  // namespace
}  // namespace lockstep::testing
