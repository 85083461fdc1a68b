#include "generate/storages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lockstep::generate {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kMebi = 1 << 20;

TEST(StoragePlaces, LivesThatDoNotMeetShareAPlace) {
  EXPECT_THAT(places_of({{0, 3, 2048}, {4, 9, 2048}}), ElementsAre(0, 0));
  EXPECT_THAT(places_of({{0, 4, 2048}, {4, 9, 2048}}), ElementsAre(0, 2048));
}

TEST(StoragePlaces, TheLargestLieLowestAndGapsAreFilled) {
  // The second and third live apart and share what lies above the first; 100 bytes take 512.
  EXPECT_THAT(places_of({{0, 9, 4096}, {0, 3, 100}, {5, 9, 600}, {1, 2, 100}}),
              ElementsAre(0, 4096, 4096, 4608));
}

TEST(StoragePlaces, NoTwoThatMeetOverlap) {
  std::vector<StorageLife> lives;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t first = i * 7919 % 500;
    lives.push_back({first, first + i * 104'729 % 60, 1 + i * 15'485'863LL % (8 * kMebi)});
  }
  const std::vector<std::int64_t> places = places_of(lives);
  std::int64_t end = 0;
  for (std::size_t a = 0; a < lives.size(); ++a) {
    end = std::max(end, places[a] + lives[a].bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool meet = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool overlap = places[a] < places[b] + lives[b].bytes && places[b] < places[a] + lives[a].bytes;
      EXPECT_FALSE(meet && overlap) << a << " and " << b;
    }
  }
  EXPECT_LE(static_cast<double>(end), 1.05 * static_cast<double>(allocator_peak(lives)));
}

TEST(StoragePlaces, TheAllocatorReservesWholeSegments) {
  EXPECT_EQ(allocator_peak({{0, 1, 30 * kMebi}}), 30 * kMebi);
  EXPECT_EQ(allocator_peak({{0, 1, 30 * kMebi}, {2, 3, 30 * kMebi}}), 30 * kMebi);
  EXPECT_EQ(allocator_peak({{0, 2, 30 * kMebi}, {2, 3, 30 * kMebi}}), 60 * kMebi);
}

}  // namespace
}  // namespace lockstep::generate
