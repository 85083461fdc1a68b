#include "search/learned/choice.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gradients.hpp"

namespace lockstep::sharding::learned {
namespace {

TEST(Choice, IsASoftmaxOverThoseThatMay) {
  const Vector scores{{std::log(1.0), 1000.0, std::log(3.0)}};
  const Vector p = probabilities_of(scores, {true, false, true});
  EXPECT_NEAR(p[0], 0.25, 1e-15);
  EXPECT_EQ(p[1], 0);
  EXPECT_NEAR(p[2], 0.75, 1e-15);
  EXPECT_EQ(likeliest_choice(p), 2U);
}

TEST(Choice, FallsOnEachByItsShare) {
  const Vector p{{0.25, 0, 0.75}};
  EXPECT_EQ(drawn_choice(p, 0), 0U);
  EXPECT_EQ(drawn_choice(p, 0.2499), 0U);
  EXPECT_EQ(drawn_choice(p, 0.25), 2U);
  EXPECT_EQ(drawn_choice(p, 0.999999), 2U);
  EXPECT_EQ(drawn_choice(Vector{{0.4, 0.6 - 1e-16, 0}}, 1 - 1e-17), 1U);  // never one that may not be
}

TEST(Choice, HasTheGradientOfFiniteDifferences) {
  DrawSequence draws{3, "choice"};
  Parameter scores{5, 1, 2, draws};
  const std::vector<bool> may{true, true, false, true, true};
  const Lesson lesson{3, -1.7, 0.3};
  const auto loss = [&] {
    const Vector p = probabilities_of(scores.value.col(0), may);
    double entropy = 0;
    for (const double of : p) {
      entropy -= of > 0 ? of * std::log(of) : 0;
    }
    return -lesson.advantage * std::log(p[lesson.chosen]) - lesson.entropy_cost * entropy;
  };
  scores.gradient = gradient_of_choice(probabilities_of(scores.value.col(0), may), lesson);
  EXPECT_EQ(scores.gradient(2, 0), 0);
  EXPECT_LT(lockstep::testing::gradient_error({{"scores", &scores}}, loss), 1e-8);
}

}  // namespace
}  // namespace lockstep::sharding::learned
