#include "topology/network_cables.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

namespace lockstep {
namespace {

std::vector<int> degrees(const SwitchPairs& pairs, int switches) {
  std::vector<int> degree(static_cast<std::size_t>(switches), 0);
  for (const auto& [a, b] : pairs) {
    EXPECT_NE(a, b);
    ++degree.at(static_cast<std::size_t>(a));
    ++degree.at(static_cast<std::size_t>(b));
  }
  return degree;
}

TEST(Torus, JoinsEachSwitchToTwoOfEachDimension) {
  const SwitchPairs pairs = torus_cables({3, 4, 5});
  EXPECT_EQ(pairs.size(), 3U * 60);  // a cable a switch and dimension
  for (const int degree : degrees(pairs, 60)) {
    EXPECT_EQ(degree, 6);
  }
  EXPECT_EQ(std::set(pairs.begin(), pairs.end()).size(), pairs.size());
}

TEST(Torus, IsARingOrLessInSmallDimensions) {
  EXPECT_EQ(torus_cables({4}), (SwitchPairs{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  EXPECT_EQ(torus_cables({2, 1}), (SwitchPairs{{0, 1}}));
  EXPECT_TRUE(torus_cables({1}).empty());
  EXPECT_THROW((void)torus_cables({}), std::invalid_argument);
  EXPECT_THROW((void)torus_cables({4, 0}), std::invalid_argument);
}

// Kim et al. 2008: with groups = a h + 1 every two groups have one cable, and every switch uses its h.
TEST(Dragonfly, JoinsEveryTwoGroupsOnce) {
  constexpr int kPerGroup = 4;
  constexpr int kGlobal = 2;
  constexpr int kGroups = kPerGroup * kGlobal + 1;
  const SwitchPairs pairs = dragonfly_cables(kPerGroup * kGroups, kPerGroup, kGlobal);
  std::map<std::pair<int, int>, int> between;
  for (const auto& [a, b] : pairs) {
    ++between[{a / kPerGroup, b / kPerGroup}];
  }
  for (int a = 0; a < kGroups; ++a) {
    EXPECT_EQ((between[{a, a}]), kPerGroup * (kPerGroup - 1) / 2);
    for (int b = a + 1; b < kGroups; ++b) {
      EXPECT_EQ((between[{a, b}]), 1) << a << ' ' << b;
    }
  }
  for (const int degree : degrees(pairs, kPerGroup * kGroups)) {
    EXPECT_EQ(degree, kPerGroup - 1 + kGlobal);
  }
}

TEST(Dragonfly, DealsSeveralCablesEvenly) {
  const SwitchPairs pairs = dragonfly_cables(6, 2, 2);  // 3 groups, 4 ports each for 2 others
  std::map<std::pair<int, int>, int> between;
  for (const auto& [a, b] : pairs) {
    ++between[{a / 2, b / 2}];
  }
  EXPECT_EQ((between[{0, 1}]), 2);
  EXPECT_EQ((between[{0, 2}]), 2);
  EXPECT_EQ((between[{1, 2}]), 2);
  for (const int degree : degrees(pairs, 6)) {
    EXPECT_EQ(degree, 3);
  }
}

TEST(Dragonfly, RefusesWhatCannotBeDealt) {
  EXPECT_THROW((void)dragonfly_cables(7, 2, 1), std::invalid_argument);
  EXPECT_THROW((void)dragonfly_cables(8, 2, 1), std::invalid_argument);  // 2 ports for 3 other groups
  EXPECT_THROW((void)dragonfly_cables(8, 0, 1), std::invalid_argument);
  EXPECT_EQ(dragonfly_cables(3, 3, 1).size(), 3U);  // one group: its switches only
}

}  // namespace
}  // namespace lockstep
