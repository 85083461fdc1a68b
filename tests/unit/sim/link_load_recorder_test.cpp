#include "sim/link_load_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topology/machines.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// Three GPUs in a row: links 0 and 1 between the first two, 2 and 3 between the last two; 50 GB/s each.
Fabric row_of_gpus() {
  Drawing drawing;
  for (int i = 0; i < 3; ++i) {
    drawing.add(testing::gpu(0, i, true));
  }
  drawing.connect(0, 1, testing::kNvLink);
  drawing.connect(1, 2, testing::kNvLink);
  return testing::build(std::move(drawing));
}

std::vector<double> rates_of(const LinkLoads& loads) {
  std::vector<double> rates;
  for (const LoadChange& change : loads.changes) {
    rates.push_back(change.rate);
  }
  return rates;
}

std::vector<double> dates_of(const LinkLoads& loads) {
  std::vector<double> dates;
  for (const LoadChange& change : loads.changes) {
    dates.push_back(change.date);
  }
  return dates;
}

/// Two transfers of 10 and 20 GB/s overlap between 2 and 3 s: 2 x 10 + 1 x 30 + 1 x 20 GB.
TEST(LinkLoadRecorder, AddsUpWhatALinkCarries) {
  LinkLoadRecorder recorder{row_of_gpus()};
  recorder.add(0, 10e9, 0);
  recorder.add(0, 20e9, 2);
  recorder.add(0, -10e9, 3);
  recorder.add(0, -20e9, 4);
  const auto busiest = recorder.busiest(0, 5);
  ASSERT_EQ(busiest.size(), 1);  // idle links are not shown
  EXPECT_DOUBLE_EQ(busiest.front().bytes, 70e9);
  EXPECT_THAT(dates_of(busiest.front()), ElementsAre(0, 2, 3, 4, 5));
  EXPECT_THAT(rates_of(busiest.front()), ElementsAre(10e9, 30e9, 20e9, 0, 0));
}

TEST(LinkLoadRecorder, TakesRoundingForIdle) {
  LinkLoadRecorder recorder{row_of_gpus()};
  recorder.add(1, 0.1e9, 0);
  recorder.add(1, 0.2e9, 1);
  recorder.add(1, -0.3e9, 2);  // 0.1 + 0.2 is more than 0.3
  EXPECT_THAT(rates_of(recorder.busiest(0, 3).front()), ElementsAre(0.1e9, ::testing::DoubleEq(0.3e9), 0, 0));
}

TEST(LinkLoadRecorder, CutsToTheStepsThatAreShown) {
  LinkLoadRecorder recorder{row_of_gpus()};
  recorder.add(0, 10e9, 0);
  recorder.add(0, -10e9, 4);
  recorder.add(2, 40e9, 0);
  recorder.add(2, -40e9, 1);  // before what is shown
  const auto busiest = recorder.busiest(2, 6);
  ASSERT_EQ(busiest.size(), 1);
  EXPECT_EQ(busiest.front().link, 0);
  EXPECT_DOUBLE_EQ(busiest.front().bytes, 20e9);
  EXPECT_THAT(dates_of(busiest.front()), ElementsAre(2, 4, 6));
}

TEST(LinkLoadRecorder, ShowsTheBusiestFirst) {
  LinkLoadRecorder recorder{row_of_gpus(), {.links = 2}};
  for (const LinkId link : {0U, 1U, 2U, 3U}) {
    recorder.add(link, 1e9 * (1 + link), 0);
  }
  const auto busiest = recorder.busiest(0, 1);
  ASSERT_EQ(busiest.size(), 2);
  EXPECT_EQ(busiest[0].link, 3);
  EXPECT_EQ(busiest[1].link, 2);
}

/// Bytes stay when changes become means; the idle links have no room to lose.
TEST(LinkLoadRecorder, KeepsItsBoundsAndTheBytes) {
  LinkLoadRecorder recorder{row_of_gpus(), {.links = 1, .recorded = 64, .shown = 16}};
  for (int i = 0; i < 1000; ++i) {
    recorder.add(3, i % 2 == 0 ? 2e9 : -2e9, i);
    recorder.add(0, i % 2 == 0 ? 1e9 : -1e9, i);
  }
  const auto busiest = recorder.busiest(0, 1000);
  ASSERT_EQ(busiest.size(), 1);
  EXPECT_EQ(busiest.front().link, 3);
  EXPECT_LE(busiest.front().changes.size(), 16);
  EXPECT_DOUBLE_EQ(busiest.front().bytes, 1000e9);
}

}  // namespace
}  // namespace lockstep
