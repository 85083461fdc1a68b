#include "calibration/measure/grids/grids.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.hpp"
#include "calibration/measure/session.hpp"

namespace lockstep {
namespace {

MachineLimits eight_gpus() {
  MachineLimits limits;
  limits.gpus = limits.ranks = 8;
  return limits;
}

std::set<std::string> keys(const std::vector<GridPoint>& points) {
  std::set<std::string> all;
  for (const GridPoint& point : points) {
    all.insert(point.key());
  }
  return all;
}

TEST(Grids, PointsHaveTheParametersOfTheirFamilyAndAreThereOnce) {
  for (const Family& family : measured_families()) {
    const std::vector<GridPoint> points = family.grid(eight_gpus(), Extent::Full);
    ASSERT_FALSE(points.empty()) << family.name;
    EXPECT_EQ(keys(points).size(), points.size()) << family.name;
    for (const GridPoint& point : points) {
      ASSERT_EQ(point.values().size(), family.parameters.size()) << family.name;
      for (std::size_t i = 0; i < family.parameters.size(); ++i) {
        ASSERT_EQ(point.values()[i].first, family.parameters[i]) << family.name;
      }
    }
  }
}

TEST(Grids, AQuickGridIsAPartOfTheFullOne) {
  for (const Family& family : measured_families()) {
    const std::set<std::string> full = keys(family.grid(eight_gpus(), Extent::Full));
    for (const std::string& key : keys(family.grid(eight_gpus(), Extent::Quick))) {
      EXPECT_TRUE(full.contains(key)) << family.name << ": " << key;
    }
  }
}

TEST(Grids, RatesFillTheirColumnsAndAreFinite) {
  for (const Family& family : measured_families()) {
    for (const GridPoint& point : family.grid(eight_gpus(), Extent::Quick)) {
      const std::vector<double> rates = family.rates_of(point, Seconds{1e-3});
      ASSERT_EQ(rates.size(), family.rates.size()) << family.name;
      for (const double rate : rates) {
        EXPECT_TRUE(std::isfinite(rate) && rate > 0) << family.name << ": " << point.key();
      }
    }
  }
}

TEST(Grids, NoTypeThatTheGpuLacks) {
  MachineLimits volta;
  volta.compute_capability = 70;
  for (const GridPoint& point : gemm_family().grid(volta, Extent::Full)) {
    EXPECT_TRUE(point.text("type") == "fp32" || point.text("type") == "fp16") << point.key();
  }
}

TEST(Grids, NothingLargerThanMemory) {
  MachineLimits small;
  small.memory = Bytes{8e9};
  for (const GridPoint& point : memory_family().grid(small, Extent::Full)) {
    EXPECT_LE(point.integer("bytes"), 4'000'000'000);
  }
}

TEST(Grids, OneGpuHasNoCollectives) {
  EXPECT_TRUE(collective_family().grid(MachineLimits{}, Extent::Full).empty());
}

TEST(Grids, GroupsOfOneProcessAndAllOfSeveral) {
  const auto group_sizes = [](MachineLimits limits) {
    std::set<std::int64_t> sizes;
    for (const GridPoint& point : collective_family().grid(limits, Extent::Quick)) {
      sizes.insert(point.integer("ranks"));
    }
    return sizes;
  };
  MachineLimits limits = eight_gpus();
  EXPECT_EQ(group_sizes(limits), (std::set<std::int64_t>{2, 4, 8}));
  limits.gpus = limits.ranks = 6;
  EXPECT_EQ(group_sizes(limits), (std::set<std::int64_t>{2, 4, 6}));
  limits.gpus = 1;
  limits.ranks = 16;
  EXPECT_EQ(group_sizes(limits), std::set<std::int64_t>{16});
}

TEST(Grids, BusBandwidthIsThatOfNcclTests) {
  GridPoint point;
  point.set("operation", "all_reduce").set("ranks", 8).set("in_place", 0).set("bytes", 1'000'000'000);
  const std::vector<double> rates = collective_family().rates_of(point, Seconds{0.01});
  EXPECT_DOUBLE_EQ(rates[0], 100);         // 1 GB in 10 ms
  EXPECT_DOUBLE_EQ(rates[1], 100 * 1.75);  // 2 (8 - 1) / 8
}

TEST(Grids, AProductOfOneTeraflopInAMillisecond) {
  GridPoint point;
  point.set("batch", 2).set("m", 1000).set("n", 500).set("k", 1'000'000);
  EXPECT_DOUBLE_EQ(gemm_family().rates_of(point, Seconds{1e-3})[0], 2000);  // 2 x 2 x 5e11 in 1 ms
}

// The program's brief promises this, at the guessed times of a point; a run says what it took.
TEST(Grids, QuickIsAboutFiveMinutesAndFullUnderTwentyFive) {
  Seconds quick;
  Seconds full;
  for (const Family& family : measured_families()) {
    quick += expected_time(family, family.grid({}, Extent::Quick).size(), Extent::Quick);
    full += expected_time(family, family.grid({}, Extent::Full).size(), Extent::Full);
  }
  EXPECT_LT(quick, Seconds{5.0 * 60});
  EXPECT_LT(full, Seconds{25.0 * 60});
}

TEST(Families, AreFoundByName) {
  EXPECT_EQ(family_named("gemm").name, "gemm");
  try {
    static_cast<void>(family_named("gem"));
    FAIL();
  } catch (const InputError& problem) {
    EXPECT_STREQ(problem.what(), "--only: there is no family 'gem' - did you mean 'gemm'?");
  }
}

}  // namespace
}  // namespace lockstep
