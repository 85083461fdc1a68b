#pragma once

#include <functional>
#include <span>
#include <vector>

namespace lockstep {

/// Residuals of a model, in units of their expected spread, for a set of parameters; always equally many.
using Residuals = std::function<std::vector<double>(std::span<const double> parameters)>;

/// The parameters near @p start with the least sum of squared residuals: Levenberg-Marquardt (Eigen's port of
/// MINPACK, More 1978) with central differences over steps of 1e-4, of parameters above 1 of so much of them.
/// Residuals that are large on purpose belong through
/// softened() first.
/// @throws std::logic_error for fewer residuals than parameters
[[nodiscard]] std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start);

/// A residual that counts as it is near zero and as its square root far away, so that a few strays do not
/// pull the rest: sign(r) sqrt(2 (sqrt(1 + r^2) - 1)), the "soft L1" loss.
[[nodiscard]] double softened(double residual);

}  // namespace lockstep
