// Promises of every search method.
#include "search/sharding/method.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "search/sharding/exact.hpp"
#include "search/sharding/local_search.hpp"
#include "search/sharding/table_wise.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding {
namespace {

using lockstep::testing::random_task;
using lockstep::testing::table;
using lockstep::testing::task;

const lockstep::testing::LinearCosts kCosts;
const SearchOptions kLittle{.seed = 3, .effort = 2000, .stopped = [] { return false; }};

class EverySearchMethod : public ::testing::TestWithParam<Method> {};

TEST_P(EverySearchMethod, GivesPlansThatFitOrNone) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    // 20 tables of 60 kB in the mean on 3 devices: tight.
    const Task drawn = random_task(seed, 20, 3, 350'000);
    CachedCostModel cost_model{drawn, kCosts};
    const auto plan = GetParam().search(cost_model, kLittle);
    EXPECT_TRUE(!plan || is_valid(*plan, drawn)) << "seed " << seed;
  }
}

TEST_P(EverySearchMethod, GivesTheSamePlanAgain) {
  const Task drawn = random_task(5, 30, 4, 1e9);
  CachedCostModel first{drawn, kCosts};
  CachedCostModel second{drawn, kCosts};
  EXPECT_EQ(GetParam().search(first, kLittle), GetParam().search(second, kLittle));
}

TEST_P(EverySearchMethod, FindsNothingWhereNothingFits) {
  const Task tables = task({table(1000, 4, 1)}, 2, 100);
  CachedCostModel cost_model{tables, kCosts};
  EXPECT_FALSE(GetParam().search(cost_model, kLittle));
}

TEST_P(EverySearchMethod, CanDoWithOneDevice) {
  const Task tables = task({table(10, 8, 1), table(20, 4, 2)}, 1);
  CachedCostModel cost_model{tables, kCosts};
  const auto plan = GetParam().search(cost_model, kLittle);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(is_valid(*plan, tables));
}

INSTANTIATE_TEST_SUITE_P(Methods, EverySearchMethod, ::testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& method) { return std::string{method.param.name}; });

TEST(NeuroShard, CutsTheOneTableThatRulesTheStep) {
  // 64 columns x 10 lookups beside 64 x 1, on 2 devices. Whole: 641 + 64 ms. The first halved: 321 + 65 ms
  // on the device that has the other table too, and 96 columns: 482 ms.
  const Task tables = task({table(10, 64, 10), table(10, 64, 1)}, 2);
  CachedCostModel cost_model{tables, kCosts};
  EXPECT_NEAR(cost_model.estimate(neuroshard_table_wise(cost_model, {}).value()).total / Seconds{1e-3}, 705,
              1e-9);
  EXPECT_LE(
      cost_model.estimate(method_called("neuroshard").search(cost_model, {}).value()).total / Seconds{1e-3},
      482);
}

TEST(LockstepSearch, MergesAndSwapsToTheBest) {
  // Lookups times columns 40, 30, 30, 20, 20, 20 of one width: the halves are 80 and 80; the greedy rule
  // gives 40 + 20 + 20 | 30 + 30 + 20, which is it, and 7 x 4 columns make 3 pieces of 4 on each: 80 + 3
  // + 12.
  const Task tables = task(
      {table(9, 4, 10), table(9, 4, 7.5), table(9, 4, 7.5), table(9, 4, 5), table(9, 4, 5), table(9, 4, 5)},
      2);
  CachedCostModel cost_model{tables, kCosts};
  Plan poor{whole_tables(tables)};  // all on device 0: 160 + 6 + 24
  EXPECT_NEAR(cost_model.estimate(poor).total / Seconds{1e-3}, 190, 1e-9);
  EXPECT_NEAR(cost_model.estimate(improved(cost_model, poor, kLittle)).total / Seconds{1e-3}, 95, 1e-9);
}

TEST(LockstepSearch, CutsUntilItFits) {
  // 3 tables of 1600 B (16 columns) on 2 devices of 2400 B: two whole ones, and one in halves of 800 B.
  const Task tables = task(std::vector<Table>(3, table(25, 16, 1)), 2, 2400);
  CachedCostModel cost_model{tables, kCosts};
  EXPECT_FALSE(method_called("size_greedy").search(cost_model, {}));
  const auto plan = method_called("lockstep").search(cost_model, kLittle);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(is_valid(*plan, tables));
}

TEST(ExactSearch, IsTheBestOfAllPlacements) {
  // Columns x lookups 12, 20 and 28 on 2 devices: 12 and 20 together are 32 + 2 pieces + 8 columns = 42 ms;
  // 28 with 12 would be 50, with 20 58.
  const Task tables = task({table(9, 4, 3), table(9, 4, 5), table(9, 4, 7)}, 2);
  CachedCostModel cost_model{tables, kCosts};
  const auto plan = method_called("exact").search(cost_model, {});
  ASSERT_TRUE(plan);
  EXPECT_NEAR(cost_model.estimate(*plan).total / Seconds{1e-3}, 42, 1e-9);
}

/// The last of three devices takes a fifth of the time. Columns x lookups are 40, 30, 20 and 10. The two
/// largest there take 72 / 5 ms, 20 on another one 21, and 8 columns 8; with 20 there, too, 93 / 5 and 12.
TEST(ExactSearch, GivesFastDevicesMore) {
  const Task tables = task({table(9, 4, 10), table(9, 4, 7.5), table(9, 4, 5), table(9, 4, 2.5)}, 3);
  const lockstep::testing::LinearCosts costs{{1, 1, 0.2}};
  CachedCostModel cost_model{tables, costs};
  EXPECT_TRUE(cost_model.has_unlike_devices());
  EXPECT_NEAR(cost_model.alone(0, 4) / Seconds{1e-3}, 41 / 5.0, 1e-9);
  for (const char* const name : {"exact", "lockstep"}) {
    const auto plan = method_called(name).search(cost_model, kLittle);
    ASSERT_TRUE(plan) << name;
    EXPECT_NEAR(cost_model.estimate(*plan).total / Seconds{1e-3}, 29, 1e-9) << name;
  }
}

/// Told to stop, or out of questions, it has the best so far, which the greedy order makes good at once.
TEST(ExactSearch, ThatEndsEarlyHasWhatItSawAndNoProof) {
  const Task drawn = random_task(1, 30, 4, 1e9);
  CachedCostModel cost_model{drawn, kCosts};
  SearchOptions told;
  told.stopped = [] { return true; };
  for (const SearchOptions& options : {told, kLittle}) {
    const ExactPlacement placement = exact_placement(cost_model, options);
    EXPECT_FALSE(placement.is_proven);
    ASSERT_TRUE(placement.plan);
    EXPECT_TRUE(is_valid(*placement.plan, drawn));
    EXPECT_NEAR(placement.cost / cost_model.estimate(*placement.plan).total, 1, 1e-12);
    EXPECT_LE(placement.cost, cost_model.estimate(*method_called("dim_greedy").search(cost_model, {})).total);
  }
  const Task few = random_task(1, 6, 2, 1e9);
  CachedCostModel of_few{few, kCosts};
  EXPECT_TRUE(exact_placement(of_few, {}).is_proven);
}

TEST(LockstepSearch, IsWithinThreePercentOfExact) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Task drawn = random_task(seed, 9, 4, 1e9);
    CachedCostModel cost_model{drawn, kCosts};
    const auto exact = method_called("exact").search(cost_model, {});
    const auto ours = method_called("lockstep").search(cost_model, {});
    ASSERT_TRUE(exact && ours);
    EXPECT_LE(cost_model.estimate(*ours).total, 1.03 * cost_model.estimate(*exact).total) << "seed " << seed;
  }
}

TEST(LockstepSearch, StopsWhenTold) {
  const Task drawn = random_task(1, 30, 4, 1e9);
  CachedCostModel cost_model{drawn, kCosts};
  SearchOptions at_once;
  at_once.effort = 1'000'000;
  at_once.stopped = [] { return true; };
  EXPECT_TRUE(method_called("lockstep").search(cost_model, at_once));
  EXPECT_LT(cost_model.questions(), 10'000);
}

TEST(SearchMethods, AreCalledByName) {
  EXPECT_EQ(method_called("dim_greedy").name, "dim_greedy");
  EXPECT_THROW((void)method_called("magic"), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::sharding
