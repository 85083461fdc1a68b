#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "search/learned/training.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

using lockstep::testing::LinearCosts;
using lockstep::testing::random_task;

/// Trained a little, on three devices.
const PlacementPolicy& policy_of(const std::string& method) {
  static const LinearCosts costs;
  static const std::vector<Task> tasks{random_task(1, 12, 3, 1e9), random_task(2, 9, 3, 200'000)};
  static const auto train = [](auto trains) {
    TrainingOptions options;
    options.rounds = 1;
    return trains(tasks, costs, options);
  };
  static const auto autoshard = train(train_autoshard);
  static const auto dreamshard = train(train_dreamshard);
  return method == "autoshard" ? *autoshard : *dreamshard;
}

void respects_memory(const std::string& method) {
  const PlacementPolicy& policy = policy_of(method);
  rc::check([&] {
    const Task drawn =
        random_task(*rc::gen::inRange<std::uint64_t>(0, 10'000), *rc::gen::inRange<std::size_t>(1, 40),
                    *rc::gen::inRange<std::size_t>(1, 9), *rc::gen::inRange(20'000, 1'000'000));
    const auto plan = policy.place(drawn);
    RC_CLASSIFY(plan.has_value(), "fits");
    RC_ASSERT(!plan || is_valid(*plan, drawn));
    Bytes all;
    for (std::size_t i = 0; i < drawn.tables.size(); ++i) {
      all += drawn.size_of(i, drawn.tables[i].shape.dimension);
    }
    RC_ASSERT(plan || all > drawn.capacity.front());  // one device with room for all has room for each
  });
}

TEST(LearnedPlacement, OfAutoShardRespectsMemory) {
  respects_memory("autoshard");
}

TEST(LearnedPlacement, OfDreamShardRespectsMemory) {
  respects_memory("dreamshard");
}

}  // namespace
}  // namespace lockstep::sharding::learned
