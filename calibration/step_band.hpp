#pragma once

/// @file
/// From the errors of kernels, collectives and hosts to that of a step (docs/trust.md).

#include <array>
#include <span>
#include <string>
#include <vector>

#include "sim/critical_path.hpp"

namespace lockstep {

/// Seconds that rest on each Provenance.
using SecondsByProvenance = std::array<double, 4>;

/// Predictions of one family of models.
struct FamilyBand {
  std::string family;
  double seconds = 0;     ///< on the path
  double half_width = 0;  ///< of their sum, s
  SecondsByProvenance by_provenance{};
};

struct StepBand {
  double relative = 0;               ///< half-width by the errors of the pieces, of the sum of all
  double seconds = 0;                ///< the sum of all
  std::vector<FamilyBand> families;  ///< largest half-width first
  SecondsByProvenance by_provenance{};
  double omitted = 0;  ///< what is known to be left out, of the sum of all: it makes steps longer alone
};

/// The half-width of a sum of predictions, as that of a step is of those on its critical path: a step gets
/// longer by what a piece on the path gets longer, to first order.
///
/// With b_i the half-width of a prediction's time t_i, family by family
///
///   H_f^2 = c^2 (sum t_i b_i)^2 + (1 - c^2) sum (t_i b_i)^2        H^2 = sum H_f^2
///
/// c^2 is the part of the variance that all predictions of a family share in a run (a model that is too fast
/// is too fast for all its kernels); the rest is each prediction's own, and families are independent.
///
/// @param common c, 0 (independent) to 1 (all of a family off in the same direction). The default is the
/// median over
///        the 34 tables of docs/models.md of |bias| / mean absolute error.
/// @throws std::invalid_argument for a common part outside 0 to 1
[[nodiscard]] StepBand step_band(std::span<const PathPrediction> predictions, double common = 0.75);

}  // namespace lockstep
