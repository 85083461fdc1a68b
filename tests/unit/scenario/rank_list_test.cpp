#include "scenario/rank_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(RankList, HasNumbersAndRanges) {
  EXPECT_THAT(parse_ranks("3", 16), ElementsAre(3));
  EXPECT_THAT(parse_ranks("8-10,0,9", 16), ElementsAre(0, 8, 9, 10));
  EXPECT_THAT(parse_ranks("all", 3), ElementsAre(0, 1, 2));
}

TEST(RankList, RefusesWhatIsNone) {
  for (const char* text : {"", "a", "1-", "-1", "1,,2", "3-1", "16", "0-16", "1 ", "99999999999"}) {
    EXPECT_THROW((void)parse_ranks(text, 16), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace lockstep
