#include "traces/time_window.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Place = TimeWindow::Place;

constexpr std::int64_t kMicro = 1000;
constexpr std::int64_t kSecond = 1'000'000'000;

TEST(TimeWindow, FindsZerosAmongLaterTimesHoweverMany) {
  const TimeWindow window{{0, 0, 0, 0, 5 * kSecond, 5 * kSecond + 900 * kMicro}};
  EXPECT_EQ(window.place_of(0, 0), Place::Lost);
  EXPECT_EQ(window.place_of(0, 950 * kMicro), Place::Lost);
  EXPECT_EQ(window.place_of(-65, -65), Place::Lost);
  EXPECT_EQ(window.place_of(5 * kSecond, 5 * kSecond), Place::Within);
}

TEST(TimeWindow, LeavesTimesThatBeginAtZero) {
  const TimeWindow window{{0, 10 * kMicro, 20 * kMicro, 2 * kSecond}};
  EXPECT_EQ(window.place_of(0, 0), Place::Within);
  EXPECT_EQ(window.place_of(0, 5 * kMicro), Place::Within);
  EXPECT_EQ(window.place_of(2 * kSecond, 3 * kSecond), Place::Within);
}

// A range that lasts until the others begin has not lost its time, nor has all that stands at 0.
TEST(TimeWindow, LeavesARangeAroundAllAndATraceOfZeros) {
  EXPECT_EQ((TimeWindow{{0, 3 * kSecond, 3 * kSecond + 1}}).place_of(0, 4 * kSecond), Place::Within);
  EXPECT_EQ((TimeWindow{{0, 0, 0}}).place_of(0, 0), Place::Within);
  EXPECT_EQ(TimeWindow{{}}.place_of(7, 9), Place::Within);
}

TEST(TimeWindow, FindsWhatIsYearsOff) {
  const TimeWindow window{{4'000'000 * kSecond, 4'000'000 * kSecond + kMicro, 18'446'744'073'709'500}};
  EXPECT_EQ(window.place_of(18'446'744'073'709'500, 18'446'744'073'709'501), Place::Outside);
  EXPECT_EQ(window.place_of(-3'000'000 * kSecond, -3'000'000 * kSecond), Place::Outside);
  EXPECT_EQ(window.place_of(4'000'000 * kSecond, 6'000'000 * kSecond), Place::Outside);  // its end
  EXPECT_EQ(window.place_of(4'000'000 * kSecond, 4'000'600 * kSecond),
            Place::Within);  // a time-out's ten minutes
}

TEST(TimeWindow, TakesOtherEventsNearby) {
  const TimeWindow window{{160 * kMicro, 2000 * kMicro}};
  EXPECT_EQ(window.place_of(120 * kMicro, 130 * kMicro), Place::Within);
  EXPECT_EQ(window.place_of(2100 * kMicro, 2200 * kMicro), Place::Within);
  EXPECT_EQ(window.place_of(1000 * kSecond, 1000 * kSecond), Place::Outside);
}

TEST(TimeWindow, LeavesSparseTimes) {
  const TimeWindow window{{kSecond, 30 * kSecond, 80 * kSecond, 600 * kSecond}};
  EXPECT_EQ(window.place_of(kSecond, kSecond), Place::Within);
  EXPECT_EQ(window.place_of(600 * kSecond, 600 * kSecond), Place::Within);
}

}  // namespace
}  // namespace lockstep
