#include "traces/replay/group_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GroupLayout, KeepsTheDistanceOfRanks) {
  const GroupLayout pairs = lay_out({2, {0, 4}}, 16);
  EXPECT_TRUE(pairs.keeps_distance);
  EXPECT_THAT(pairs.groups,
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7),
                          ElementsAre(8, 12), ElementsAre(9, 13), ElementsAre(10, 14), ElementsAre(11, 15)));
}

TEST(GroupLayout, TakesNeighboursWhereTheDistanceDoesNotFit) {
  for (const StatedGroup& stated : {StatedGroup{2, {0, 3}}, StatedGroup{2, {}}, StatedGroup{2, {3, 0}}}) {
    const GroupLayout pairs = lay_out(stated, 4);
    EXPECT_FALSE(pairs.keeps_distance);
    EXPECT_THAT(pairs.groups, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  }
  EXPECT_THAT(lay_out({3, {0, 1, 2}}, 8).groups, IsEmpty());
  EXPECT_THAT(lay_out({16, {}}, 8).groups, IsEmpty());
  EXPECT_THAT(lay_out({}, 8).groups, IsEmpty());
}

/// Lists are cut after 30 elements; the list of groups says them all.
TEST(StatedGroup, IsThatOfTheKernelOrOfTheListOfGroups) {
  kineto::RecordedTrace trace;
  trace.groups.push_back({"7", "dp", 4, {0, 2, 4, 6}});
  kineto::Communication said;
  said.group = "7";
  EXPECT_EQ(stated_group(trace, said).size, 4);
  EXPECT_THAT(stated_group(trace, said).ranks, ElementsAre(0, 2, 4, 6));
  said.group = "8";
  said.group_size = 64;
  said.ranks = "[0, 8, 16, ...]";
  EXPECT_EQ(stated_group(trace, said).size, 64);
  EXPECT_THAT(stated_group(trace, said).ranks, ElementsAre(0, 8, 16));
}

}  // namespace
}  // namespace lockstep::replay
