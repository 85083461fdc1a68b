#include "search/learned/lstm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gradients.hpp"

namespace lockstep::sharding::learned {
namespace {

std::vector<NamedParameter> parameters_of(LstmLayer& layer) {
  std::vector<NamedParameter> parameters;
  layer.list("lstm", parameters);
  return parameters;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(LstmLayer, RemembersAsByHand) {
  DrawSequence draws{1, "lstm"};
  LstmLayer layer{1, 1, draws};
  const auto parameters = parameters_of(layer);
  parameters[0].parameter->value << 1, 2, 3, 4;          // by the input: i, f, g, o
  parameters[1].parameter->value << 0.5, 0.6, 0.7, 0.8;  // by the output before
  parameters[2].parameter->value << 0.1, 0.2, 0.3, 0.4;
  LstmPass pass = layer.pass(2);
  // The first step starts from nothing: c = i g, h = o tanh(c), with x = 0.5.
  const double first_cell = sigmoid(0.6) * std::tanh(1.8);
  const double first = sigmoid(2.4) * std::tanh(first_cell);
  EXPECT_NEAR(layer.step(Vector::Constant(1, 0.5), pass)[0], first, 1e-15);
  // x = -1: the gates see x, h and the bias, the cell forgets a part.
  const double cell = sigmoid(-2 + 0.6 * first + 0.2) * first_cell +
                      sigmoid(-1 + 0.5 * first + 0.1) * std::tanh(-3 + 0.7 * first + 0.3);
  EXPECT_NEAR(layer.step(Vector::Constant(1, -1), pass)[0], sigmoid(-4 + 0.8 * first + 0.4) * std::tanh(cell),
              1e-15);
  EXPECT_EQ(pass.steps, 2);
}

TEST(LstmLayer, HasTheGradientsOfFiniteDifferences) {
  DrawSequence draws{1, "lstm"};
  LstmLayer lower{3, 4, draws}, upper{4, 2, draws};
  Parameter inputs{3, 6, 1, draws};
  const Parameter weights{2, 6, 1, draws};
  const auto play = [&](LstmPass& below, LstmPass& above) {
    double loss = 0;
    for (Eigen::Index step = 0; step < 6; ++step) {
      const Vector output = upper.step(lower.step(inputs.value.col(step), below), above);
      loss += output.dot(weights.value.col(step));
    }
    return loss;
  };
  LstmPass below = lower.pass(9), above = upper.pass(9);  // more room than steps
  play(below, above);
  inputs.gradient = lower.backward(upper.backward(weights.value, above), below);
  const auto loss = [&] {
    LstmPass again = lower.pass(6), over = upper.pass(6);
    return play(again, over);
  };
  auto parameters = parameters_of(lower);
  for (const auto& of_upper : parameters_of(upper)) {
    parameters.push_back(of_upper);
  }
  parameters.push_back({"inputs", &inputs});
  EXPECT_LT(lockstep::testing::gradient_error(parameters, loss), 1e-7);
}

}  // namespace
}  // namespace lockstep::sharding::learned
