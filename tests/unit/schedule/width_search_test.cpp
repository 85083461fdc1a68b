#include "schedule/width_search.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>

#include "base/random.hpp"

namespace lockstep {
namespace {

/// Tile quantisation makes some widths no faster than wider ones.
WidthSearchTask random_task(std::uint64_t seed, std::size_t widths, std::size_t slots) {
  const Random random{seed, "width search"};
  WidthSearchTask task;
  for (std::size_t i = 0; i < widths; ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(widths);
    task.widths.push_back({share, 0.4 + 0.6 * share + 0.1 * random.uniform(i), share, std::sqrt(share)});
  }
  task.transitions.assign(widths, std::vector<double>(widths));
  for (std::size_t i = 0; i < widths * widths; ++i) {
    task.transitions[i / widths][i % widths] = i / widths == i % widths ? 0 : 3 * random.uniform(100 + i);
  }
  task.slots = slots;
  task.steps_of_slot = 10;
  task.most_phases = 3;
  return task;
}

struct Sum {
  double seconds = 0, flops = 0, quality = 0;
  std::size_t phases = 1, full = 0;
};

Sum sum_of(const WidthSearchTask& task, const std::vector<std::size_t>& widths) {
  Sum sum;
  for (std::size_t slot = 0; slot < widths.size(); ++slot) {
    if (slot > 0 && widths[slot] != widths[slot - 1]) {
      ++sum.phases;
      sum.seconds += task.transitions[widths[slot - 1]][widths[slot]];
    }
    sum.seconds += task.steps_of_slot * task.widths[widths[slot]].step;
    sum.flops += task.steps_of_slot * task.widths[widths[slot]].flops;
    sum.quality += task.widths[widths[slot]].quality / static_cast<double>(widths.size());
    sum.full += widths[slot] + 1 == task.widths.size() ? 1 : 0;
  }
  return sum;
}

/// Every assignment of widths to slots.
std::optional<double> least_by_trying(const WidthSearchTask& task) {
  const std::size_t count = task.widths.size();
  const double dense = task.widths.back().flops * task.steps_of_slot * static_cast<double>(task.slots);
  std::optional<double> least;
  const auto all = static_cast<std::size_t>(std::pow(count, task.slots));
  for (std::size_t number = 0; number < all; ++number) {
    std::vector<std::size_t> widths;
    for (std::size_t slot = 0, rest = number; slot < task.slots; ++slot, rest /= count)
      widths.push_back(rest % count);
    const Sum sum = sum_of(task, widths);
    const double saved = 1 - sum.flops / dense;
    const bool allowed = widths.back() + 1 == count && sum.phases <= task.most_phases &&
                         sum.full >= task.least_full_slots &&
                         sum.quality >= task.least_quality.value_or(0) - 1e-12 &&
                         saved >= task.least_flops_saved.value_or(-1) - 1e-12 &&
                         saved <= task.most_flops_saved.value_or(2) + 1e-12;
    if (allowed && (!least || sum.seconds < *least)) least = sum.seconds;
  }
  return least;
}

TEST(WidthSearch, IsAsFastAsTheBestOfAllAssignments) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    WidthSearchTask task = random_task(seed, 6, 5);
    task.least_full_slots = seed % 3;
    if (seed % 2 == 0) task.most_flops_saved = 0.2 + 0.02 * static_cast<double>(seed);
    if (seed % 4 == 1) task.least_flops_saved = 0.3;
    if (seed % 3 != 0) task.least_quality = 0.6 + 0.03 * static_cast<double>(seed);
    const auto found = fastest_schedule(task);
    const auto least = least_by_trying(task);
    ASSERT_EQ(found.has_value(), least.has_value()) << seed;
    EXPECT_NEAR(found->seconds, *least, 1e-9) << seed;
    EXPECT_NEAR(sum_of(task, found->width_of_slot).seconds, found->seconds, 1e-9) << seed;
  }
}

TEST(WidthSearch, FindsNothingWhereTheBoundsContradictEachOther) {
  WidthSearchTask task = random_task(1, 4, 4);
  task.least_flops_saved = 0.5;
  task.least_full_slots = 3;
  EXPECT_FALSE(fastest_schedule(task).has_value());
}

TEST(WidthSearch, BoundsSavedFlopsFromOneSide) {
  WidthSearchTask task = random_task(1, 4, 4);
  task.least_flops_saved = 0.1;
  task.most_flops_saved = 0.2;
  EXPECT_THROW((void)fastest_schedule(task), std::logic_error);
}

}  // namespace
}  // namespace lockstep
