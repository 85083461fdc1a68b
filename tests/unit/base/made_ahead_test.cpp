#include "base/made_ahead.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

TEST(MadeAhead, GivesEachThingInTurnWithAnyNumberOfHelpers) {
  for (const std::size_t helpers : {0U, 1U, 3U, 20U}) {
    std::vector<std::atomic<int>> times(10);
    MadeAhead<std::size_t> ahead{times.size(), helpers, [&](std::size_t number) {
                                   ++times[number];
                                   return number * number;
                                 }};
    for (std::size_t number = 0; number < times.size(); ++number) {
      EXPECT_EQ(ahead.take(number), number * number);
      EXPECT_EQ(times[number], 1);
    }
  }
}

TEST(MadeAhead, ThrowsWhereTheThingIsTaken) {
  for (const std::size_t helpers : {0U, 2U}) {
    MadeAhead<int> ahead{3, helpers, [](std::size_t number) {
                           return number == 1 ? throw std::runtime_error{"no such thing"} : 7;
                         }};
    EXPECT_EQ(ahead.take(0), 7);
    EXPECT_THROW((void)ahead.take(1), std::runtime_error);
    EXPECT_EQ(ahead.take(2), 7);
  }
}

/// Otherwise it would wait for the first thing for ever.
TEST(MadeAhead, TellsWhatIsBeingMadeThatNobodyWaitsForIt) {
  std::atomic<bool> has_begun{false};
  MadeAhead<int>* made = nullptr;
  std::atomic<bool> is_set{false};
  MadeAhead<int> ahead{2, 1, [&](std::size_t) {
                         has_begun = true;
                         while (!is_set || !made->is_over()) {
                           std::this_thread::yield();
                         }
                         return 0;
                       }};
  made = &ahead;
  is_set = true;
  while (!has_begun) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace lockstep
