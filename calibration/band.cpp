#include "calibration/band.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lockstep {
namespace {

// tools/derive/step_bands.py computes these (docs/trust.md).
constexpr double kOmitted = 0.06;  // what predictions leave out, of a step
constexpr double kFaster = 1.15;   // of predicted steps over measured ones
constexpr double kSlower = 1.73;   // of measured steps over predicted ones

}  // namespace

Band calibrated(double relative, double predicted, double omitted) {
  const double spread = std::hypot(relative, kOmitted * predicted);
  return {1 - 1 / (1 + kFaster * spread), kSlower * std::hypot(spread, omitted)};
}

Band around(const StepBand& band) {
  double predicted = 0;
  for (const FamilyBand& family : band.families) {
    predicted += family.half_width > 0 ? family.seconds : 0;
  }
  return calibrated(band.relative, band.seconds > 0 ? predicted / band.seconds : 0, band.omitted);
}

std::string in_words(const Band& band) {
  return fmt::format("-{:.0f} to +{:.0f} %", 100 * band.faster, 100 * band.slower);
}

}  // namespace lockstep
