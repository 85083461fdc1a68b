#include "topology/name_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(NamePattern, StarIsAnyTextAndQuestionMarkOneCharacter) {
  EXPECT_TRUE(matches("gpu*", "gpu"));
  EXPECT_TRUE(matches("*.gpu?", "node12.gpu3"));
  EXPECT_TRUE(matches("a*b*c", "aXbbYc"));
  EXPECT_FALSE(matches("gpu?", "gpu"));
  EXPECT_FALSE(matches("a*b", "abc"));
  EXPECT_FALSE(matches("gpu", "gpu0"));
}

TEST(NamePattern, WordsNamePlacesInTheirOrder) {
  const NamedPlaces names{{"gpu0", "gpu1", "gpu2", "gpu10", "cpu"}};
  EXPECT_THAT(names.of("cpu gpu1"), ElementsAre(4, 1));
  EXPECT_THAT(names.of("gpu0..2"), ElementsAre(0, 1, 2));
  EXPECT_THAT(names.of("gpu10..10"), ElementsAre(3));
  EXPECT_THAT(names.of("gpu?"), ElementsAre(0, 1, 2));
  const NamedPlaces twice{{"b", "a", "b"}};
  EXPECT_THAT(twice.of("b a"), ElementsAre(0, 2, 1));
}

TEST(NamePattern, SaysWhatNamesNothing) {
  const NamedPlaces names{{"gpu0", "gpu1"}};
  EXPECT_THAT(
      [&] { static_cast<void>(names.of("gpu0 gpx1")); },
      ThrowsMessage<std::invalid_argument>(HasSubstr("nothing is called 'gpx1' - did you mean 'gpu1'?")));
  EXPECT_THAT([&] { static_cast<void>(names.of("gpu0..3")); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("nothing is called 'gpu2'")));
  for (const char* range : {"gpu3..1", "gpu..3", "gpu1..x", ".."}) {
    EXPECT_THAT([&] { static_cast<void>(names.of(range)); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("is not a range")))
        << range;
  }
  EXPECT_THAT([&] { static_cast<void>(names.of(" ")); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("names nothing")));
}

}  // namespace
}  // namespace lockstep
