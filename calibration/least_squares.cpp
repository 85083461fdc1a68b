#include "calibration/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unsupported/Eigen/NonLinearOptimization>

namespace lockstep {
namespace {

/// Models choose between branches, and a smaller step would be lost in their rounding. Of parameters below 1
/// it is this much, not so much of them: one that is almost 0 would never be seen to do anything.
constexpr double kStep = 1e-4;

/// A step that makes the sum of squares less by such a part is the last: between branches there are many.
constexpr double kEnough = 1e-4;

/// The functor in the form that Eigen asks for. Its names are Eigen's.
struct ResidualFunctor {
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

  /// Central differences. Not counted as evaluations: that is what 0 says.
  int df(const InputType& at, JacobianType& slopes) const {
    InputType moved = at;
    ValueType above(rows), below(rows);
    for (Eigen::Index i = 0; i < parameters; ++i) {
      const double step = kStep * std::max(1.0, std::abs(at[i]));
      moved[i] = at[i] + step;
      (*this)(moved, above);
      moved[i] = at[i] - step;
      (*this)(moved, below);
      moved[i] = at[i];
      slopes.col(i) = (above - below) / (2 * step);
    }
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
  constexpr Eigen::Index kEvaluations = 100;  // for each parameter, as MINPACK's lmder1
  ResidualFunctor functor{residuals, parameters, rows};
  Eigen::LevenbergMarquardt<ResidualFunctor> solver{functor};
  solver.parameters.maxfev = kEvaluations * (parameters + 1);
  solver.parameters.ftol = kEnough;
  Eigen::VectorXd at = Eigen::Map<const Eigen::VectorXd>(start.data(), parameters);
  solver.minimize(at);
  return {at.data(), at.data() + at.size()};
}

double softened(double residual) {
  return std::copysign(std::sqrt(2 * (std::sqrt(1 + residual * residual) - 1)), residual);
}

}  // namespace lockstep
