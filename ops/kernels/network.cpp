#include "ops/kernels/network.hpp"

#include <Eigen/Core>

namespace lockstep {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::VectorXd scaled_all(const std::vector<LearnedFeature>& features, std::span<const double> values) {
  Eigen::VectorXd all(static_cast<Eigen::Index>(features.size()));
  for (std::size_t i = 0; i < features.size(); ++i) {
    all[static_cast<Eigen::Index>(i)] = scaled(features[i], values[i]);
  }
  return all;
}

Eigen::VectorXd through(const LearnedLayer& layer, const Eigen::VectorXd& inputs) {
  const Eigen::Map<const RowMajor> weights{layer.values.data(), layer.outputs, layer.inputs};
  const Eigen::Map<const Eigen::VectorXd> biases{
      layer.values.data() + static_cast<std::ptrdiff_t>(layer.outputs) * layer.inputs, layer.outputs};
  return weights * inputs + biases;
}

}  // namespace

double scaled(const LearnedFeature& feature, double value) {
  const double width = feature.most - feature.least;
  return width > 0 ? (2 * value - feature.least - feature.most) / width : 0;
}

double evaluate(const LearnedKernel& network, std::span<const double> call,
                std::span<const std::vector<double>> elements) {
  Eigen::VectorXd state = scaled_all(network.features, call);
  if (!network.trunk.empty()) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(network.trunk.back().outputs);
    for (const std::vector<double>& element : elements) {
      Eigen::VectorXd part = scaled_all(network.elements, element);
      for (const LearnedLayer& layer : network.trunk) {
        part = through(layer, part).array().tanh();
      }
      sum += part;
    }
    Eigen::VectorXd both(state.size() + sum.size());
    both << state, sum;
    state = std::move(both);
  }
  for (std::size_t i = 0; i < network.head.size(); ++i) {
    state = through(network.head[i], state);
    if (i + 1 < network.head.size()) state = state.array().tanh();
  }
  return state[0];
}

}  // namespace lockstep
