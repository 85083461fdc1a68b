#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "search/learned/parameter.hpp"

namespace lockstep::sharding::learned {

/// Fully connected layers with ReLU between them, y = W x + b. A column is an example.
class Dense {
 public:
  enum class End { Linear, Relu };
  /// Values that went through: the inputs of each layer, then the outputs.
  using Passed = std::vector<Matrix>;

  /// @param sizes inputs, then the outputs of each layer. Weights and biases start between -1 / sqrt(inputs)
  /// and 1 / sqrt(inputs), as PyTorch's Linear
  Dense(std::initializer_list<Eigen::Index> sizes, End end, DrawSequence& draws);

  /// [inputs x examples] -> [outputs x examples]
  [[nodiscard]] Matrix operator()(const Matrix& inputs) const;
  /// Computes the outputs, and remembers in @p passed what backward() needs.
  Matrix forward(Matrix inputs, Passed& passed) const;
  /// Adds the gradients of a loss by the parameters, from those by the outputs. @return those by the inputs
  Matrix backward(Matrix gradients, const Passed& passed);

  /// All weights and biases, as `name.1.weights`, `name.1.biases`, `name.2.weights`, ...
  void list(const std::string& name, std::vector<NamedParameter>& parameters);

 private:
  struct Layer {
    Parameter weights, biases;
  };
  [[nodiscard]] Matrix through(std::size_t layer, const Matrix& inputs) const;
  [[nodiscard]] bool bends(std::size_t layer) const {
    return end_ == End::Relu || layer + 1 < layers_.size();
  }

  std::vector<Layer> layers_;
  End end_;
};

}  // namespace lockstep::sharding::learned
