#include "scenario/overrides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(Overrides, SplitAtTheFirstEqualsSign) {
  const auto overrides = overrides_of({"a.b=1", "c=x=y", "d="});
  ASSERT_EQ(overrides.size(), 3U);
  EXPECT_EQ(overrides[1].key_path, "c");
  EXPECT_EQ(overrides[1].value, "x=y");
  EXPECT_EQ(overrides[2].value, "");
  EXPECT_THROW((void)overrides_of({"=1"}), std::invalid_argument);
  EXPECT_THROW((void)overrides_of({"steps"}), std::invalid_argument);
}

TEST(Overrides, OneThatStandsByItselfIsToldOfSet) {
  EXPECT_EQ(set_meant("steps=5"), " - each KEY=VALUE needs a --set of its own: --set steps=5");
  EXPECT_EQ(set_meant("--steps=5"), "");
  EXPECT_EQ(set_meant("steps"), "");
}

TEST(Overrides, CommasOutsideOfBracketsAndQuotesSeparateValues) {
  EXPECT_THAT(values_of({"a", "1,2, 4"}), ElementsAre("1", "2", " 4"));
  EXPECT_THAT(values_of({"a", "[1, 2],{x: 1, y: 2}"}), ElementsAre("[1, 2]", "{x: 1, y: 2}"));
  EXPECT_THAT(values_of({"a", "'x, y',\"z,\""}), ElementsAre("'x, y'", "\"z,\""));
  EXPECT_THAT(values_of({"a", ""}), ElementsAre(""));
  EXPECT_THROW((void)values_of({"a", "1,,2"}), std::invalid_argument);
  EXPECT_THROW((void)values_of({"a", "1, "}), std::invalid_argument);
  EXPECT_THROW((void)values_of({"a", "[1, 2"}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
