#include "calibration/kernels/layer_stack.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace lockstep {
namespace {

constexpr double kFirst = 0.9;     // Adam's decay of the gradients' mean
constexpr double kSecond = 0.999;  // and of their squares' mean
constexpr double kSmallest = 1e-8;

/// Weights row by row, then biases, in six digits.
LearnedLayer written(const Eigen::MatrixXd& weights, const Eigen::MatrixXd& biases) {
  LearnedLayer layer;
  layer.inputs = static_cast<int>(weights.cols());
  layer.outputs = static_cast<int>(weights.rows());
  const auto write = [&](double number) {
    layer.numbers += fmt::format("{}{:.6g}", layer.numbers.empty() ? "" : " ", number);
  };
  for (Eigen::Index row = 0; row < weights.rows(); ++row) {
    for (Eigen::Index column = 0; column < weights.cols(); ++column) write(weights(row, column));
  }
  for (Eigen::Index row = 0; row < biases.rows(); ++row) write(biases(row, 0));
  layer.check();  // reads the numbers back
  return layer;
}

}  // namespace

LayerStack::LayerStack(std::span<const int> sizes, bool tanh_at_end, const Random& random)
    : tanh_at_end_{tanh_at_end} {
  std::uint64_t drawn = 0;
  for (std::size_t layer = 0; layer + 1 < sizes.size(); ++layer) {
    const int inputs = sizes[layer], outputs = sizes[layer + 1];
    const double reach = std::sqrt(6.0 / (inputs + outputs));  // Glorot and Bengio, AISTATS 2010
    parameters_.push_back(Eigen::MatrixXd::NullaryExpr(
        outputs, inputs, [&] { return reach * (2 * random.uniform(drawn++) - 1); }));
    parameters_.emplace_back(Eigen::MatrixXd::Zero(outputs, 1));
  }
  for (const Eigen::MatrixXd& of : parameters_) {
    gradients_.emplace_back(Eigen::MatrixXd::Zero(of.rows(), of.cols()));
  }
  first_moments_ = gradients_;
  second_moments_ = gradients_;
}

Eigen::MatrixXd LayerStack::forward(Eigen::MatrixXd inputs) {
  passed_.clear();
  passed_.push_back(std::move(inputs));
  for (std::size_t layer = 0; layer < depth(); ++layer) {
    Eigen::MatrixXd outputs = parameters_[2 * layer] * passed_.back();
    outputs.colwise() += parameters_[2 * layer + 1].col(0);
    if (bends(layer)) outputs = outputs.array().tanh();
    passed_.push_back(std::move(outputs));
  }
  return passed_.back();
}

Eigen::MatrixXd LayerStack::backward(Eigen::MatrixXd gradients) {
  for (std::size_t layer = depth(); layer-- > 0;) {
    if (bends(layer)) gradients.array() *= 1 - passed_[layer + 1].array().square();
    gradients_[2 * layer].noalias() = gradients * passed_[layer].transpose();
    gradients_[2 * layer + 1] = gradients.rowwise().sum();
    gradients = parameters_[2 * layer].transpose() * gradients;
  }
  return gradients;
}

void LayerStack::adjust(double learning_rate, int step) {
  const double first = 1 - std::pow(kFirst, step), second = 1 - std::pow(kSecond, step);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    first_moments_[i] = kFirst * first_moments_[i] + (1 - kFirst) * gradients_[i];
    second_moments_[i].array() =
        kSecond * second_moments_[i].array() + (1 - kSecond) * gradients_[i].array().square();
    parameters_[i].array() -= learning_rate * (first_moments_[i].array() / first) /
                              ((second_moments_[i].array() / second).sqrt() + kSmallest);
  }
}

std::vector<LearnedLayer> LayerStack::layers() const {
  std::vector<LearnedLayer> all;
  for (std::size_t layer = 0; layer < depth(); ++layer) {
    all.push_back(written(parameters_[2 * layer], parameters_[2 * layer + 1]));
  }
  return all;
}

}  // namespace lockstep
