#include "search/learned/autoshard_policy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "search/learned/choice.hpp"
#include "tests/support/gradients.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

using lockstep::testing::random_task;

Matrix features_of(const Task& task) {
  std::vector<Matrix> raw{raw_features(task)};
  return scaled(raw.front(), scale_of(raw));
}

AutoShardPolicy::Choice drawing(DrawSequence& draws) {
  return [&](std::size_t, const Vector& p) { return drawn_choice(p, draws.next()); };
}

/// The actor-critic loss of the choices of @p episode, with the advantages that it had at first.
double loss_of(const AutoShardEpisode& episode, const Vector& values, const Vector& first_values,
               double reward) {
  double loss = 0.25 * (values.array() - reward).square().sum();
  for (Eigen::Index step = 0; step < values.size(); ++step) {
    const Vector p = episode.probabilities.col(step);
    loss -= (reward - first_values[step]) * std::log(p[episode.chosen[static_cast<std::size_t>(step)]]);
    for (const double of : p) {
      loss += of > 0 ? 0.01 * of * std::log(of) : 0;
    }
  }
  return loss;
}

TEST(AutoShardCosts, HaveTheGradientsOfFiniteDifferences) {
  DrawSequence draws{4, "costs"};
  AutoShardCosts costs{draws};
  const Task drawn = random_task(1, 6, 2, 1e9);
  const MeasuredShards measured{features_of(drawn), {0, 2, 2, 0, 2, 0}, Vector{{1.0, 0.1, 2.0}}};
  std::vector<NamedParameter> parameters;
  costs.list(parameters);
  const double error = costs.learn(measured);
  const auto loss = [&] {
    const Matrix sums = sums_of_groups(costs.vectors(measured.features), measured.shard, 3);
    return (costs.of_sums(sums) - measured.costs).squaredNorm() / 3;
  };
  EXPECT_NEAR(error, loss(), 1e-12);
  EXPECT_LT(lockstep::testing::gradient_error(parameters, loss), 1e-6);
}

TEST(AutoShardPolicy, HasTheGradientsOfFiniteDifferences) {
  // Seven tables of 6400 bytes and seven places: towards the end devices are full.
  std::vector<Table> tables;
  for (const double pooling_factor : {1, 9, 2, 8, 3, 7, 4}) {
    tables.push_back(lockstep::testing::table(100, 16, pooling_factor));
  }
  Task drawn = lockstep::testing::task(tables, 3);
  drawn.capacity = {Bytes{20'000}, Bytes{13'000}, Bytes{13'000}};
  const Matrix features = features_of(drawn);
  AutoShardPolicy policy{{}, 5};
  DrawSequence draws{5, "episode"};
  const AutoShardEpisode first = policy.play(drawn, features, drawing(draws));
  ASSERT_EQ(first.chosen.size(), 7U);
  EXPECT_EQ(first.probabilities.minCoeff(), 0);
  const Vector first_values = policy.learn(first, 0.7, 0.01);
  const std::vector<NamedParameter> parameters = policy.policy_parameters();
  std::vector<Matrix> gradients;
  for (const NamedParameter& named : parameters) {
    gradients.push_back(named.parameter->gradient);
  }
  const auto loss = [&] {
    const AutoShardEpisode again =
        policy.play(drawn, features, [&](std::size_t step, const Vector&) { return first.chosen[step]; });
    const Vector values = policy.learn(again, 0.7, 0.01);  // which adds gradients
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].parameter->gradient = gradients[i];
    }
    return loss_of(again, values, first_values, 0.7);
  };
  std::vector<NamedParameter> moving;
  for (const NamedParameter& named : parameters) {
    if (named.name != "policy.score.4.biases") {
      moving.push_back(named);  // that one adds the same to every device's score
    } else {
      EXPECT_LT(named.parameter->gradient.cwiseAbs().maxCoeff(), 1e-12);
    }
  }
  EXPECT_LT(lockstep::testing::gradient_error(moving, loss, 8), 1e-5);
}

TEST(AutoShardPolicy, PlacesTablesWhereThereIsRoom) {
  AutoShardPolicy policy{{}, 1};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Task drawn = random_task(seed, 20, 3, 350'000);
    const auto plan = policy.place(drawn);
    EXPECT_TRUE(!plan || is_valid(*plan, drawn));
  }
  const Task too_large = lockstep::testing::task({lockstep::testing::table(1000, 4, 1)}, 2, 10'000);
  const AutoShardEpisode episode = policy.play(too_large, features_of(too_large), {});
  EXPECT_FALSE(episode.plan);
  EXPECT_NEAR(episode.lacking, 0.6, 1e-12);  // 16,000 of 10,000 bytes
}

}  // namespace
}  // namespace lockstep::sharding::learned
