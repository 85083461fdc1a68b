#include "calibration/least_squares.hpp"

#include <cmath>
#include <stdexcept>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

namespace lockstep {
namespace {

/// What Eigen asks of a problem. Its names are Eigen's.
struct Problem {
  using Scalar = double;                                        // NOLINT
  using InputType = Eigen::VectorXd;                            // NOLINT
  using ValueType = Eigen::VectorXd;                            // NOLINT
  using JacobianType = Eigen::MatrixXd;                         // NOLINT
  enum { InputsAtCompileTime = -1, ValuesAtCompileTime = -1 };  // NOLINT

  const Residuals& residuals;
  Eigen::Index parameters;
  Eigen::Index rows;

  [[nodiscard]] Eigen::Index inputs() const { return parameters; }
  [[nodiscard]] Eigen::Index values() const { return rows; }

  int operator()(const InputType& at, ValueType& out) const {
    const auto found = residuals({at.data(), static_cast<std::size_t>(at.size())});
    out = Eigen::Map<const Eigen::VectorXd>(found.data(), static_cast<Eigen::Index>(found.size()));
    return 0;
  }
};

}  // namespace

std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start) {
  const auto rows = static_cast<Eigen::Index>(residuals(start).size());
  const auto parameters = static_cast<Eigen::Index>(start.size());
  if (rows < parameters) {
    throw std::logic_error("least_squares: fewer residuals than parameters");
  }
  const Problem problem{residuals, parameters, rows};
  // Steps of 1e-4: models choose between branches, and a smaller one would be lost in their rounding.
  Eigen::NumericalDiff<Problem> differentiated{problem, 1e-8};
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Problem>> solver{differentiated};
  Eigen::VectorXd at = Eigen::Map<const Eigen::VectorXd>(start.data(), parameters);
  solver.minimize(at);
  return {at.data(), at.data() + at.size()};
}

double softened(double residual) {
  return std::copysign(std::sqrt(2 * (std::sqrt(1 + residual * residual) - 1)), residual);
}

}  // namespace lockstep
