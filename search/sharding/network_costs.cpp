#include "search/sharding/network_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::sharding {
namespace {

constexpr std::size_t kTrunk = 2;  // layers of the compute network before the sum over tables
constexpr Eigen::Index kFeatures = 20;

/// Numbers of a text, one after the other.
class Numbers {
 public:
  Numbers(std::string file, const std::string& text) : file_{std::move(file)}, text_{text} {}

  double next() {
    double number = 0;
    if (!(text_ >> number)) {
      complain("the file ends early, or has something that is no number");
    }
    ++read_;
    return number;
  }

  Eigen::Index size(const char* of_what) {
    constexpr double kMost = 4096;
    const double number = next();
    if (number < 1 || number > kMost || number != static_cast<double>(static_cast<Eigen::Index>(number))) {
      complain(fmt::format("{} is no number of {}", number, of_what));
    }
    return static_cast<Eigen::Index>(number);
  }

  template <class Vector>
  Vector vector(Eigen::Index size) {
    Vector values(size);
    for (auto& value : values) {
      value = static_cast<typename Vector::Scalar>(next());
    }
    return values;
  }

  [[noreturn]] void complain(const std::string& message) const {
    throw InputError{{file_},
                     fmt::format("number {}: {}; expected the cost networks of NeuroShard as numbers "
                                 "(docs/search.md)",
                                 read_ + 1, message)};
  }

 private:
  std::string file_;
  std::istringstream text_;
  std::size_t read_ = 0;
};

ScaledNetwork::Layer read_layer(Numbers& numbers, Eigen::Index inputs) {
  const Eigen::Index outputs = numbers.size("outputs");
  if (numbers.size("inputs") != inputs) {
    numbers.complain(fmt::format("a layer that takes {} numbers is expected here", inputs));
  }
  ScaledNetwork::Layer layer{Eigen::MatrixXf(outputs, inputs), {}};
  for (Eigen::Index row = 0; row < outputs; ++row) {
    layer.weights.row(row) = numbers.vector<Eigen::RowVectorXf>(inputs);
  }
  layer.biases = numbers.vector<Eigen::VectorXf>(outputs);
  return layer;
}

ScaledNetwork read_network(Numbers& numbers) {
  Eigen::Index width = numbers.size("inputs");
  const Eigen::Index count = numbers.size("layers");
  auto mean = numbers.vector<Eigen::VectorXd>(width);
  auto deviation = numbers.vector<Eigen::VectorXd>(width);
  if ((deviation.array() <= 0).any()) {
    numbers.complain("a deviation is above 0");
  }
  std::vector<ScaledNetwork::Layer> layers;
  for (Eigen::Index i = 0; i < count; ++i) {
    layers.push_back(read_layer(numbers, width));
    width = layers.back().biases.size();
  }
  return {std::move(mean), std::move(deviation), std::move(layers)};
}

Eigen::VectorXd features_of(const Table& table, std::int64_t columns) {
  Eigen::VectorXd features(kFeatures);
  Eigen::Index at = 0;
  const auto bins = [&](std::size_t first, std::size_t last) {
    for (std::size_t bin = first; bin <= last; ++bin) {
      features[at++] = table.reuse[bin];
    }
  };
  bins(0, 1);
  bins(10, 16);
  bins(2, 9);
  features[at++] = static_cast<double>(columns);
  features[at++] = table.shape.pooling_factor;
  features[at++] = static_cast<double>(table.shape.rows);
  return features;
}

Seconds milliseconds(float number) {
  return Seconds{1e-3 * std::max(0.0, static_cast<double>(number))};
}

}  // namespace

ScaledNetwork::ScaledNetwork(Eigen::VectorXd mean, Eigen::VectorXd deviation, std::vector<Layer> layers)
    : mean_{std::move(mean)}, deviation_{std::move(deviation)}, layers_{std::move(layers)} {}

Eigen::VectorXf ScaledNetwork::scaled(const Eigen::VectorXd& inputs) const {
  return ((inputs - mean_).array() / deviation_.array()).matrix().cast<float>();
}

Eigen::VectorXf ScaledNetwork::through(Eigen::VectorXf state, std::size_t first, std::size_t last) const {
  for (std::size_t i = first; i < last; ++i) {
    Eigen::VectorXf next = layers_[i].biases;
    next.noalias() += layers_[i].weights * state;
    state = std::move(next);
    if (i + 1 < layers_.size()) {
      state = state.cwiseMax(0.0F);
    }
  }
  return state;
}

Eigen::VectorXf ScaledNetwork::operator()(const Eigen::VectorXd& inputs) const {
  return through(scaled(inputs), 0, layers_.size());
}

NetworkCosts NetworkCosts::from_file(const std::filesystem::path& path) {
  const std::string text = read_whole_file(path);
  Numbers numbers{path.string(), text};
  NetworkCosts costs;
  costs.compute_ = read_network(numbers);
  costs.forward_ = read_network(numbers);
  costs.backward_ = read_network(numbers);
  const Eigen::Index devices = costs.backward_.inputs();
  const bool sums = costs.compute_.layers() > kTrunk && costs.compute_.outputs() == 1;
  if (costs.compute_.inputs() != kFeatures || !sums) {
    numbers.complain(fmt::format("the compute network takes {} features and gives one time", kFeatures));
  }
  if (costs.compute_.inputs_of(kTrunk) > static_cast<Eigen::Index>(Load::kSums)) {
    numbers.complain(fmt::format("the compute network makes at most {} numbers of a table, which are summed",
                                 Load::kSums));
  }
  if (costs.backward_.outputs() != devices || costs.forward_.inputs() != 2 * devices ||
      costs.forward_.outputs() != devices) {
    numbers.complain("the communication networks give a time for each device");
  }
  return costs;
}

Load NetworkCosts::load_of(const Table& table, std::int64_t columns, std::uint32_t /*kind*/) const {
  const Eigen::VectorXf state = compute_.through(compute_.scaled(features_of(table, columns)), 0, kTrunk);
  Load load;
  for (Eigen::Index i = 0; i < std::min<Eigen::Index>(state.size(), Load::kSums); ++i) {
    load.sums[static_cast<std::size_t>(i)] = static_cast<double>(state[i]);
  }
  load.pieces = 1;
  return load;
}

Seconds NetworkCosts::compute(const Load& load) const {
  const Eigen::Map<const Eigen::VectorXd> sums{load.sums.data(), compute_.inputs_of(kTrunk)};
  return milliseconds(compute_.through(sums.cast<float>(), kTrunk, compute_.layers())[0]);
}

Estimate NetworkCosts::estimate(std::span<const Seconds> compute, std::span<const double> widths,
                                std::span<const double> /*indices*/) const {
  const auto devices = static_cast<Eigen::Index>(widths.size());
  Eigen::VectorXd inputs(2 * devices);
  inputs.head(devices) = Eigen::Map<const Eigen::VectorXd>{widths.data(), devices};
  const Eigen::VectorXf backward = backward_(inputs.head(devices));
  Eigen::VectorXd starts(devices);
  Estimate estimate;
  for (Eigen::Index i = 0; i < devices; ++i) {
    const auto device = static_cast<std::size_t>(i);
    estimate.compute.push_back(compute[device]);
    estimate.communication.push_back(milliseconds(backward[i]));
    starts[i] = (compute[device] + estimate.communication.back()) / Seconds{1e-3};
  }
  inputs.tail(devices) = starts.array() - starts.minCoeff();
  const Eigen::VectorXf forward = forward_(inputs);
  for (Eigen::Index i = 0; i < devices; ++i) {
    const auto device = static_cast<std::size_t>(i);
    estimate.communication[device] += milliseconds(forward[i]);
    estimate.total = std::max(estimate.total, compute[device] + estimate.communication[device]);
  }
  return estimate;
}

}  // namespace lockstep::sharding
