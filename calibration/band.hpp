#pragma once

#include <string>

#include "calibration/step_band.hpp"

namespace lockstep {

/// A 90 % interval around a predicted time, relative to it: the measured one lies between 1 - faster and
/// 1 + slower times as long.
struct Band {
  double faster = 0;  ///< 0 to 1
  double slower = 0;  ///< 0 or more

  /// @param relative measured over predicted, less 1
  [[nodiscard]] bool holds(double relative) const { return relative >= -faster && relative <= slower; }

  friend bool operator==(const Band&, const Band&) = default;
};

/// The same distance on both sides.
[[nodiscard]] constexpr Band even_band(double half_width) {
  return {half_width, half_width};
}

/// The interval around one kernel or collective by itself, from the half-width that its model states. What
/// models leave out makes predictions too short: the slower side is half as wide again, with which 90 % of
/// the rows of sets of measurements are inside (docs/trust.md).
[[nodiscard]] constexpr Band band_alone(double half_width) {
  constexpr double kSlowerAlone = 1.5;
  return {half_width, kSlowerAlone * half_width};
}

/// The interval that holds nine of ten measured steps of sets that decided nothing of it, from the half-width
/// by the pieces' errors (StepBand::relative). These alone do not hold them: what a prediction leaves out is
/// in none of them, and makes it too fast. With u = sqrt(relative^2 + (omitted x predicted)^2), the measured
/// step is at most 1 + slower u times as long and at least 1 / (1 + faster u) times. The factors are those of
/// tools/derive/step_bands.py, from all sets of measured steps, each set with the same weight.
/// @param predicted share of the step's time that models predicted: what was recorded or given leaves nothing
/// out
/// @param omitted StepBand::omitted, beside u on the slower side
[[nodiscard]] Band calibrated(double relative, double predicted = 1, double omitted = 0);

/// calibrated() for a step.
[[nodiscard]] Band around(const StepBand& band);

/// `-12 to +25 %`
[[nodiscard]] std::string in_words(const Band& band);

}  // namespace lockstep
