#include "search/learned/dreamshard_policy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "search/learned/choice.hpp"
#include "tests/support/gradients.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

using lockstep::testing::random_task;

Matrix scaled_features(const Task& task) {
  std::vector<Matrix> raw{raw_features(task)};
  return scaled(raw.front(), scale_of(raw));
}

TEST(DreamShardCosts, HaveTheGradientsOfFiniteDifferences) {
  DrawSequence draws{4, "costs"};
  DreamShardCosts costs{draws};
  const Task drawn = random_task(1, 7, 2, 1e9);
  // Two plans: three tables on two devices, four tables on three devices of which one is empty.
  const MeasuredPlans measured{scaled_features(drawn),
                               {0, 1, 0, 2, 2, 4, 4},
                               {0, 0, 1, 1, 1},
                               Matrix{{1, 2, 0.5, 0.1, 3}, {0.3, 0.3, 0.2, 0.2, 0.2}},
                               Vector{{2.3, 3.2}}};
  std::vector<NamedParameter> parameters;
  costs.list(parameters);
  const double error = costs.learn(measured);
  const auto loss = [&] {
    const Matrix sums = sums_of_groups(costs.vectors(measured.features), measured.device, 5);
    const double first = costs.total(sums.leftCols(2)) - 2.3, second = costs.total(sums.rightCols(3)) - 3.2;
    return (costs.parts(sums) - measured.parts).squaredNorm() / 5 + (first * first + second * second) / 2;
  };
  EXPECT_NEAR(error, loss(), 1e-12);
  EXPECT_LT(lockstep::testing::gradient_error(parameters, loss), 1e-6);
}

TEST(DreamShardPolicy, HasTheGradientsOfFiniteDifferences) {
  const Task drawn = random_task(2, 7, 3, 160'000);  // tight: some devices may not be chosen
  const Matrix features = scaled_features(drawn);
  DreamShardPolicy policy{{}, 5};
  DrawSequence draws{5, "episodes"};
  const DreamShardEpisodes first = policy.play(
      drawn, features, 2, [&](std::size_t, const Vector& p) { return drawn_choice(p, draws.next()); });
  const Vector advantages{{1.5, -0.5}};
  policy.learn(features, first, advantages, 0.01);
  const auto loss = [&] {
    std::size_t next = 0;
    const auto replay = [&](std::size_t, const Vector&) {
      while (first.chosen[next] == DreamShardEpisodes::kOver) {
        ++next;
      }
      return first.chosen[next++];
    };
    const DreamShardEpisodes again = policy.play(drawn, features, 2, replay);
    double sum = 0;
    for (std::size_t i = 0; i < again.chosen.size(); ++i) {
      if (again.chosen[i] == DreamShardEpisodes::kOver) {
        continue;
      }
      const Vector p = again.probabilities.col(static_cast<Eigen::Index>(i));
      sum -= advantages[static_cast<Eigen::Index>(i % 2)] * std::log(p[again.chosen[i]]) / 2;
      for (const double of : p) {
        sum += of > 0 ? 0.01 / 2 * of * std::log(of) : 0;
      }
    }
    return sum;
  };
  std::vector<NamedParameter> moving;
  for (const NamedParameter& named : policy.policy_parameters()) {
    if (named.name != "policy.score.1.biases" && named.name != "policy.parts.2.biases") {
      moving.push_back(named);  // these two add the same to every device's score
    } else {
      EXPECT_LT(named.parameter->gradient.cwiseAbs().maxCoeff(), 1e-12) << named.name;
    }
  }
  EXPECT_LT(lockstep::testing::gradient_error(moving, loss), 1e-5);
}

TEST(DreamShardPolicy, PredictsThePlanThatItMakes) {
  const Task drawn = random_task(3, 12, 3, 1e9);
  const Matrix features = scaled_features(drawn);
  DreamShardPolicy policy{{}, 5};
  DrawSequence draws{5, "episodes"};
  const DreamShardEpisodes played = policy.play(
      drawn, features, 3, [&](std::size_t, const Vector& p) { return drawn_choice(p, draws.next()); });
  for (std::size_t episode = 0; episode < 3; ++episode) {
    Grouping device;
    for (const Piece& piece : played.plans[episode].value().pieces) {
      device.push_back(piece.device);
    }
    const Matrix sums = sums_of_groups(policy.costs().vectors(features), device, 3);
    EXPECT_NEAR(played.totals[episode], policy.costs().total(sums), 1e-12);
  }
  EXPECT_NE(played.plans[0], played.plans[1]);
}

TEST(DreamShardPolicy, PlacesTablesWhereThereIsRoom) {
  DreamShardPolicy policy{{}, 1};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Task drawn = random_task(seed, 20, 3, 350'000);
    const auto plan = policy.place(drawn);
    EXPECT_TRUE(!plan || is_valid(*plan, drawn));
  }
  EXPECT_FALSE(policy.place(lockstep::testing::task({lockstep::testing::table(1000, 4, 1)}, 2, 10'000)));
}

}  // namespace
}  // namespace lockstep::sharding::learned
