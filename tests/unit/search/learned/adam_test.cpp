#include "search/learned/adam.hpp"

#include <gtest/gtest.h>

namespace lockstep::sharding::learned {
namespace {

TEST(Adam, StepsByTheLearningRateAtFirst) {
  // Both moments are those of one gradient, each by its share: mean / root = the gradient's sign.
  DrawSequence draws{1, "adam"};
  Parameter parameter{2, 1, 1, draws};
  parameter.value << 1, 1;
  parameter.gradient << 5, -0.01;
  Adam adam{{{"p", &parameter}}};
  adam.step(0.1);
  EXPECT_NEAR(parameter.value(0, 0), 0.9, 1e-6);
  EXPECT_NEAR(parameter.value(1, 0), 1.1, 1e-6);
  EXPECT_EQ(parameter.gradient, Matrix::Zero(2, 1));
}

TEST(Adam, FindsTheBottomOfAParabola) {
  DrawSequence draws{1, "adam"};
  Parameter parameter{1, 1, 1, draws};
  Adam adam{{{"p", &parameter}}};
  for (int step = 0; step < 2000; ++step) {
    parameter.gradient = 2 * (parameter.value.array() - 3).matrix();
    adam.step(0.02);
  }
  EXPECT_NEAR(parameter.value(0, 0), 3, 1e-3);
}

TEST(Adam, ClipsAllGradientsTogether) {
  DrawSequence draws{1, "adam"};
  Parameter a{1, 1, 1, draws}, b{1, 1, 1, draws};
  a.gradient << 30;
  b.gradient << 40;
  Adam adam{{{"a", &a}, {"b", &b}}};
  adam.clip(100);  // 50 long
  EXPECT_EQ(a.gradient(0, 0), 30);
  adam.clip(5);
  EXPECT_NEAR(a.gradient(0, 0), 3, 1e-12);
  EXPECT_NEAR(b.gradient(0, 0), 4, 1e-12);
}

}  // namespace
}  // namespace lockstep::sharding::learned
