#include "search/learned/dense.hpp"

#include <gtest/gtest.h>

#include "tests/support/gradients.hpp"

namespace lockstep::sharding::learned {
namespace {

std::vector<NamedParameter> parameters_of(Dense& network) {
  std::vector<NamedParameter> parameters;
  network.list("net", parameters);
  return parameters;
}

TEST(DenseLayers, BendBetweenAndNotAtTheEnd) {
  DrawSequence draws{1, "dense"};
  Dense network{{1, 2, 1}, Dense::End::Linear, draws};
  const auto parameters = parameters_of(network);
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters[2].name, "net.2.weights");
  parameters[0].parameter->value << 2, -1;
  parameters[1].parameter->value << 1, 0.5;
  parameters[2].parameter->value << 3, -4;
  parameters[3].parameter->value << -10;
  // 1 -> (3, -0.5 -> 0) -> 9 - 10; -1 -> (-1 -> 0, 1.5) -> -6 - 10
  const Matrix inputs{{1, -1}};
  EXPECT_EQ(network(inputs), (Matrix{{-1, -16}}));
}

TEST(DenseLayers, BendAtTheEndOnRequest) {
  DrawSequence draws{1, "dense"};
  Dense network{{1, 1}, Dense::End::Relu, draws};
  const auto parameters = parameters_of(network);
  parameters[0].parameter->value << 1;
  parameters[1].parameter->value << 0;
  EXPECT_EQ(network(Matrix{{2, -2}}), (Matrix{{2, 0}}));
}

TEST(DenseLayers, StartWithinTheInverseRootOfTheirInputs) {
  DrawSequence draws{1, "dense"};
  Dense network{{100, 50}, Dense::End::Linear, draws};
  const Matrix& weights = parameters_of(network).front().parameter->value;
  EXPECT_LE(weights.cwiseAbs().maxCoeff(), 0.1);
  EXPECT_NEAR(weights.cwiseAbs().mean(), 0.05, 0.002);  // half the reach in the mean
}

TEST(DenseLayers, HaveTheGradientsOfFiniteDifferences) {
  DrawSequence draws{1, "dense"};
  Dense network{{3, 5, 4, 2}, Dense::End::Relu, draws};
  const Parameter inputs{3, 7, 1, draws}, weights{2, 7, 1, draws};
  const auto loss = [&] { return network(inputs.value).cwiseProduct(weights.value).sum(); };
  Dense::Passed passed;
  network.forward(inputs.value, passed);
  const Matrix by_inputs = network.backward(weights.value, passed);
  EXPECT_LT(lockstep::testing::gradient_error(parameters_of(network), loss), 1e-7);
  Parameter moved = inputs;
  moved.gradient = by_inputs;
  const auto loss_of_inputs = [&] { return network(moved.value).cwiseProduct(weights.value).sum(); };
  EXPECT_LT(lockstep::testing::gradient_error({{"inputs", &moved}}, loss_of_inputs), 1e-7);
}

TEST(DenseLayers, AddGradients) {
  DrawSequence draws{1, "dense"};
  Dense network{{2, 3}, Dense::End::Linear, draws};
  Dense::Passed passed;
  network.forward(Matrix::Ones(2, 1), passed);
  network.backward(Matrix::Ones(3, 1), passed);
  network.backward(Matrix::Ones(3, 1), passed);
  EXPECT_EQ(parameters_of(network)[0].parameter->gradient, Matrix::Constant(3, 2, 2.0));
}

}  // namespace
}  // namespace lockstep::sharding::learned
