#include "calibration/kernels/network_training.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "base/random.hpp"
#include "calibration/kernels/layer_stack.hpp"
#include "ops/kernels/network.hpp"

namespace lockstep {
namespace {

// The loss is the sum of all outputs, whose gradients are ones: central differences of every weight and
// input.
TEST(LayerStack, gradients_are_those_of_finite_differences) {
  for (const bool tanh_at_end : {false, true}) {
    LayerStack stack{std::array{3, 4, 2}, tanh_at_end, Random{7, "test"}};
    Eigen::MatrixXd inputs(3, 5);
    for (Eigen::Index i = 0; i < inputs.size(); ++i) {
      inputs(i) = Random{8, "inputs"}.uniform(static_cast<std::uint64_t>(i)) - 0.5;
    }
    (void)stack.forward(inputs);
    const Eigen::MatrixXd back = stack.backward(Eigen::MatrixXd::Ones(2, 5));
    const std::vector<Eigen::MatrixXd> gradients = stack.gradients();
    constexpr double kStep = 1e-6;
    const auto slope = [&](double& number) {
      const double kept = number;
      number = kept + kStep;
      const double above = stack.forward(inputs).sum();
      number = kept - kStep;
      const double below = stack.forward(inputs).sum();
      number = kept;
      return (above - below) / (2 * kStep);
    };
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      for (Eigen::Index i = 0; i < gradients[p].size(); ++i) {
        EXPECT_NEAR(slope(stack.parameters()[p](i)), gradients[p](i), 1e-7);
      }
    }
    for (Eigen::Index i = 0; i < inputs.size(); ++i) EXPECT_NEAR(slope(inputs(i)), back(i), 1e-7);
  }
}

/// Calls with one feature x and @p tables elements; the target is x plus the sum over elements of their
/// squares.
std::vector<TrainingCall> calls_of_sums(std::size_t count, std::uint64_t seed) {
  const Random random{seed, "calls"};
  std::vector<TrainingCall> calls;
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < count; ++i) {
    TrainingCall call{{random.uniform(drawn++)}, {}, 0};
    call.target = call.call.front();
    const auto tables = 1 + random.bits(drawn++) % 4;
    for (std::uint64_t table = 0; table < tables; ++table) {
      call.elements.push_back({random.uniform(drawn++)});
      call.target += call.elements.back().front() * call.elements.back().front();
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

LearnedKernel network_of_sums() {
  LearnedKernel network;
  network.features = {{"x", 0, 1}};
  network.elements = {{"y", 0, 1}};
  return network;
}

TEST(Training, learns_a_sum_over_elements) {
  LearnedKernel network = network_of_sums();
  TrainingOptions options;
  options.most_epochs = 150;
  train(network, calls_of_sums(600, 1), calls_of_sums(150, 2), options);
  double error = 0;
  const auto unseen = calls_of_sums(200, 3);
  for (const TrainingCall& call : unseen) {
    error += std::abs(evaluate(network, call.call, call.elements) - call.target) / 200;
  }
  EXPECT_LT(error, 0.03);
}

TEST(Training, the_seed_alone_decides) {
  TrainingOptions options;
  options.most_epochs = 3;
  LearnedKernel first = network_of_sums(), second = network_of_sums(), other = network_of_sums();
  const auto fitted = calls_of_sums(100, 1), validation = calls_of_sums(30, 2);
  train(first, fitted, validation, options);
  train(second, fitted, validation, options);
  options.seed = 2;
  train(other, fitted, validation, options);
  EXPECT_EQ(first.head.front().numbers, second.head.front().numbers);
  EXPECT_EQ(first.trunk.back().numbers, second.trunk.back().numbers);
  EXPECT_NE(first.head.front().numbers, other.head.front().numbers);
}

TEST(Training, without_validation_there_is_no_end) {
  LearnedKernel network = network_of_sums();
  EXPECT_THROW(train(network, calls_of_sums(10, 1), {}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
