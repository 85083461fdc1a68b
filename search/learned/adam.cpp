#include "search/learned/adam.hpp"

#include <cmath>

namespace lockstep::sharding::learned {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kLeastRoot = 1e-8;

}  // namespace

void Adam::clip(double most) {
  double squares = 0;
  for (const auto& [name, parameter] : parameters_) {
    squares += parameter->gradient.squaredNorm();
  }
  if (squares <= most * most) {
    return;
  }
  for (const auto& [name, parameter] : parameters_) {
    parameter->gradient *= most / std::sqrt(squares);
  }
}

void Adam::step(double learning_rate) {
  ++steps_;
  const double mean_share = 1 - std::pow(kMeanDecay, steps_);
  const double square_share = 1 - std::pow(kSquareDecay, steps_);
  for (const auto& [name, of] : parameters_) {
    of->first_moment = kMeanDecay * of->first_moment + (1 - kMeanDecay) * of->gradient;
    of->second_moment.array() =
        kSquareDecay * of->second_moment.array() + (1 - kSquareDecay) * of->gradient.array().square();
    of->value.array() -= learning_rate / mean_share * of->first_moment.array() /
                         ((of->second_moment.array() / square_share).sqrt() + kLeastRoot);
    of->gradient.setZero();
  }
}

void round_to_single(const std::vector<NamedParameter>& parameters) {
  for (const auto& [name, parameter] : parameters) {
    parameter->value = parameter->value.cast<float>().cast<double>();
  }
}

}  // namespace lockstep::sharding::learned
