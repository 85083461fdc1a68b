#include "calibration/kernels/network_training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "calibration/kernels/layer_stack.hpp"
#include "ops/kernels/network.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kFew = 5;  // rows at each end of a feature
constexpr double kBend = 0.05;   // of an error in ln(time): from squares to absolute values

/// Calls as columns of numbers, scaled.
struct Columns {
  Eigen::MatrixXd calls;       ///< features x calls
  Eigen::MatrixXd elements;    ///< features x all elements, call by call
  std::vector<int> belonging;  ///< of each element: its call
  Eigen::VectorXd targets;
};

/// Picks @p chosen of @p calls.
Columns columns_of(const LearnedKernel& network, std::span<const TrainingCall> calls,
                   std::span<const std::size_t> chosen) {
  Columns columns;
  const auto count = static_cast<Eigen::Index>(chosen.size());
  columns.calls.resize(static_cast<Eigen::Index>(network.features.size()), count);
  columns.targets.resize(count);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    columns.belonging.insert(columns.belonging.end(), calls[chosen[i]].elements.size(), static_cast<int>(i));
  }
  columns.elements.resize(static_cast<Eigen::Index>(network.elements.size()),
                          static_cast<Eigen::Index>(columns.belonging.size()));
  const auto fill = [](Eigen::MatrixXd& matrix, Eigen::Index column, const auto& features,
                       const std::vector<double>& values) {
    for (std::size_t f = 0; f < features.size(); ++f) {
      matrix(static_cast<Eigen::Index>(f), column) = scaled(features[f], values[f]);
    }
  };
  Eigen::Index element = 0;
  for (Eigen::Index i = 0; i < count; ++i) {
    const TrainingCall& call = calls[chosen[static_cast<std::size_t>(i)]];
    columns.targets[i] = call.target;
    fill(columns.calls, i, network.features, call.call);
    for (const auto& values : call.elements) fill(columns.elements, element++, network.elements, values);
  }
  return columns;
}

std::vector<int> head_sizes(const LearnedKernel& network, int width) {
  const int sums = network.elements.empty() ? 0 : width;
  return {static_cast<int>(network.features.size()) + sums, width, width, 1};
}

/// The network in training.
class Trainee {
 public:
  Trainee(const LearnedKernel& network, const TrainingOptions& options)
      : head_{head_sizes(network, options.width), false, Random{options.seed, "head"}} {
    if (!network.elements.empty()) {
      const std::vector<int> sizes{static_cast<int>(network.elements.size()), options.width, options.width};
      trunk_.emplace(sizes, true, Random{options.seed, "trunk"});
    }
  }

  Eigen::VectorXd outputs(const Columns& columns) {
    if (!trunk_) return head_.forward(columns.calls).transpose();
    const Eigen::MatrixXd parts = trunk_->forward(columns.elements);
    Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(parts.rows(), columns.calls.cols());
    for (std::size_t i = 0; i < columns.belonging.size(); ++i) {
      sums.col(columns.belonging[i]) += parts.col(static_cast<Eigen::Index>(i));
    }
    Eigen::MatrixXd both(columns.calls.rows() + sums.rows(), sums.cols());
    both << columns.calls, sums;
    return head_.forward(std::move(both)).transpose();
  }

  void learn(const Columns& columns, double learning_rate, int step) {
    const Eigen::ArrayXd errors = (outputs(columns) - columns.targets).array() / kBend;
    const Eigen::ArrayXd slopes =
        kBend * errors / (1 + errors.square()).sqrt() / static_cast<double>(errors.size());
    const Eigen::MatrixXd back = head_.backward(slopes.matrix().transpose());
    head_.adjust(learning_rate, step);
    if (trunk_) {
      const Eigen::MatrixXd sums = back.bottomRows(back.rows() - columns.calls.rows());
      Eigen::MatrixXd parts(sums.rows(), columns.elements.cols());
      for (std::size_t i = 0; i < columns.belonging.size(); ++i) {
        parts.col(static_cast<Eigen::Index>(i)) = sums.col(columns.belonging[i]);
      }
      trunk_->backward(std::move(parts));
      trunk_->adjust(learning_rate, step);
    }
  }

  void write(LearnedKernel& network) const {
    network.head = head_.layers();
    network.trunk = trunk_ ? trunk_->layers() : std::vector<LearnedLayer>{};
  }

 private:
  LayerStack head_;
  std::optional<LayerStack> trunk_;
};

/// Fisher and Yates' shuffle of 0 ... count - 1.
std::vector<std::size_t> shuffled(std::size_t count, const Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[random.bits(i) % i]);
  }
  return order;
}

}  // namespace

std::vector<LearnedFeature> ranges_of(const std::vector<std::string>& names,
                                      std::span<const std::vector<double>> values) {
  std::vector<LearnedFeature> features;
  for (std::size_t f = 0; f < names.size(); ++f) {
    std::vector<double> seen;
    for (const auto& row : values) seen.push_back(row[f]);
    std::ranges::sort(seen);
    const std::size_t few = std::min(kFew, (seen.size() + 1) / 2) - 1;
    features.push_back({names[f], seen.at(few), seen.at(seen.size() - 1 - few)});
  }
  return features;
}

void train(LearnedKernel& network, std::span<const TrainingCall> fitted,
           std::span<const TrainingCall> validation, const TrainingOptions& options) {
  if (fitted.empty() || validation.empty()) {
    throw std::invalid_argument{"a network needs calls to learn from, and others to know when to stop"};
  }
  const auto size = static_cast<std::size_t>(options.batch);
  std::vector<std::size_t> all(validation.size());
  std::iota(all.begin(), all.end(), 0U);
  const Columns judge = columns_of(network, validation, all);
  Trainee trainee{network, options};
  Trainee best = trainee;
  double best_error = std::numeric_limits<double>::infinity();
  const Random random{options.seed, "order"};
  int step = 0;
  for (int epoch = 0, best_epoch = 0; epoch < options.most_epochs; ++epoch) {
    const auto order = shuffled(fitted.size(), random.of(static_cast<std::uint64_t>(epoch)));
    const double rate =
        options.learning_rate / 2 * (1 + std::cos(std::numbers::pi * epoch / options.most_epochs));
    for (std::size_t from = 0; from < order.size(); from += size) {
      const auto chosen = std::span{order}.subspan(from, std::min(size, order.size() - from));
      trainee.learn(columns_of(network, fitted, chosen), rate, ++step);
    }
    const double error = (trainee.outputs(judge) - judge.targets).cwiseAbs().mean();
    if (error < best_error) {
      best_error = error;
      best_epoch = epoch;
      best = trainee;
    } else if (epoch - best_epoch >= options.patience) {
      break;
    }
  }
  best.write(network);
}

}  // namespace lockstep
