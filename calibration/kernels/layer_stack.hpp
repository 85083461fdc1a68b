#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "ops/gpu/learned_kernels.hpp"

namespace lockstep {

/// Layers in training: weights, what went through them last, and Adam's moments. A column is a call or an
/// element.
class LayerStack {
 public:
  /// @p sizes inputs, then outputs of each layer; @p tanh_at_end as in a trunk
  LayerStack(std::span<const int> sizes, bool tanh_at_end, const Random& random);

  /// [inputs x columns] -> [outputs x columns]; remembers what backward() needs.
  Eigen::MatrixXd forward(Eigen::MatrixXd inputs);

  /// Gradients of a loss from those of its outputs; gives those of its inputs.
  Eigen::MatrixXd backward(Eigen::MatrixXd gradients);

  /// One step of Adam along the last gradients. @p step counts from 1
  void adjust(double learning_rate, int step);

  [[nodiscard]] std::vector<LearnedLayer> layers() const;

  /// All weights and biases, and their gradients of the last backward(): for tests.
  [[nodiscard]] std::vector<Eigen::MatrixXd>& parameters() { return parameters_; }
  [[nodiscard]] const std::vector<Eigen::MatrixXd>& gradients() const { return gradients_; }

 private:
  [[nodiscard]] std::size_t depth() const { return parameters_.size() / 2; }
  [[nodiscard]] bool bends(std::size_t layer) const { return tanh_at_end_ || layer + 1 < depth(); }

  bool tanh_at_end_;
  std::vector<Eigen::MatrixXd> parameters_;  ///< weights and biases, by turns
  std::vector<Eigen::MatrixXd> gradients_, first_moments_, second_moments_;
  std::vector<Eigen::MatrixXd> passed_;  ///< inputs of each layer, then the output
};

}  // namespace lockstep
