#include "search/learned/dense.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace lockstep::sharding::learned {

Dense::Dense(std::initializer_list<Eigen::Index> sizes, End end, DrawSequence& draws) : end_{end} {
  for (const auto* size = sizes.begin(); size + 1 != sizes.end(); ++size) {
    const double reach = 1 / std::sqrt(static_cast<double>(*size));
    Parameter weights{size[1], *size, reach, draws};
    layers_.push_back({std::move(weights), Parameter{size[1], 1, reach, draws}});
  }
}

Matrix Dense::through(std::size_t layer, const Matrix& inputs) const {
  Matrix outputs = layers_[layer].weights.value * inputs;
  outputs.colwise() += layers_[layer].biases.value.col(0);
  if (bends(layer)) {
    outputs = outputs.cwiseMax(0.0);
  }
  return outputs;
}

Matrix Dense::operator()(const Matrix& inputs) const {
  Matrix state = through(0, inputs);
  for (std::size_t layer = 1; layer < layers_.size(); ++layer) {
    state = through(layer, state);
  }
  return state;
}

Matrix Dense::forward(Matrix inputs, Passed& passed) const {
  passed.clear();
  passed.push_back(std::move(inputs));
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    passed.push_back(through(layer, passed.back()));
  }
  return passed.back();
}

Matrix Dense::backward(Matrix gradients, const Passed& passed) {
  for (std::size_t layer = layers_.size(); layer-- > 0;) {
    if (bends(layer)) {
      gradients = (passed[layer + 1].array() > 0).select(gradients, 0.0);
    }
    layers_[layer].weights.gradient.noalias() += gradients * passed[layer].transpose();
    layers_[layer].biases.gradient += gradients.rowwise().sum();
    gradients = layers_[layer].weights.value.transpose() * gradients;
  }
  return gradients;
}

void Dense::list(const std::string& name, std::vector<NamedParameter>& parameters) {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    parameters.push_back({fmt::format("{}.{}.weights", name, layer + 1), &layers_[layer].weights});
    parameters.push_back({fmt::format("{}.{}.biases", name, layer + 1), &layers_[layer].biases});
  }
}

}  // namespace lockstep::sharding::learned
