#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "search/sharding/local_search.hpp"
#include "search/sharding/method.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding {
namespace {

using lockstep::testing::LinearCosts;
using lockstep::testing::random_task;

TEST(LockstepSearch, IsNeverWorseThanAnyOtherMethod) {
  rc::check([] {
    const LinearCosts costs;
    const Task drawn =
        random_task(*rc::gen::inRange<std::uint64_t>(0, 10'000), *rc::gen::inRange<std::size_t>(1, 25),
                    *rc::gen::inRange<std::size_t>(2, 6), *rc::gen::inRange(50'000, 1'000'000));
    CachedCostModel cost_model{drawn, costs};
    SearchOptions options;
    options.effort = 500;
    const auto ours = method_called("lockstep").search(cost_model, options);
    for (const Method& method : methods()) {
      const auto plan = method.search(cost_model, options);
      if (plan && method.name != "random" && method.name != "chunks" &&
          method.name != "exact") {  // not among the starts
        RC_ASSERT(ours.has_value());
        RC_ASSERT(cost_model.estimate(*ours).total <= cost_model.estimate(*plan).total);
      }
    }
  });
}

TEST(LockstepSearch, CountsMoreDevicesAsNoWorse) {
  rc::check([] {
    const LinearCosts costs;
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 10'000);
    SearchOptions little;
    little.effort = 3000;
    const auto cost_on = [&](std::size_t devices) {
      const Task drawn = random_task(seed, 12, devices, 1e9);
      CachedCostModel cost_model{drawn, costs};
      return cost_model.estimate(method_called("lockstep").search(cost_model, little).value()).total;
    };
    RC_ASSERT(cost_on(4) <= cost_on(2));
  });
}

}  // namespace
}  // namespace lockstep::sharding
