#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "search/learned/parameter.hpp"

namespace lockstep::testing {

/// The largest difference between a gradient and the central difference of @p loss, as a share of the largest
/// gradient of its parameter; about @p tried numbers of each parameter are tried. A parameter without any
/// gradient counts as an error of 1: a test in which it does not matter says nothing of it.
inline double gradient_error(const std::vector<sharding::learned::NamedParameter>& parameters,
                             const std::function<double()>& loss, Eigen::Index tried = 40) {
  constexpr double kStep = 1e-6;
  double error = 0;
  for (const auto& [name, parameter] : parameters) {
    auto& value = parameter->value;
    const double scale = parameter->gradient.cwiseAbs().maxCoeff();
    error = scale > 0 ? error : 1;
    for (Eigen::Index i = 0; i < value.size(); i += std::max<Eigen::Index>(1, value.size() / tried)) {
      const double before = value.data()[i];
      value.data()[i] = before + kStep;
      const double above = loss();
      value.data()[i] = before - kStep;
      const double below = loss();
      value.data()[i] = before;
      const double difference = (above - below) / (2 * kStep) - parameter->gradient.data()[i];
      error = std::max(error, std::abs(difference) / std::max(scale, 1e-12));
    }
  }
  return error;
}

}  // namespace lockstep::testing
