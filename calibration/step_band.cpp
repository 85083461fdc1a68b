#include "calibration/step_band.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace lockstep {
namespace {

struct Sums {
  double together = 0;  // sum of half-widths
  double apart = 0;     // sum of their squares
  FamilyBand family;
};

}  // namespace

StepBand step_band(std::span<const PathPrediction> predictions, double common) {
  if (!(common >= 0 && common <= 1)) {
    throw std::invalid_argument{"step_band: the common part of errors is 0 to 1"};
  }
  std::map<std::string, Sums> families;
  StepBand band;
  for (const PathPrediction& prediction : predictions) {
    Sums& sums = families[prediction.family];
    const double half_width = prediction.seconds * prediction.band;
    const auto provenance = static_cast<std::size_t>(prediction.provenance);
    sums.together += half_width;
    sums.apart += half_width * half_width;
    sums.family.seconds += prediction.seconds;
    sums.family.by_provenance[provenance] += prediction.seconds;
    band.seconds += prediction.seconds;
    band.by_provenance[provenance] += prediction.seconds;
  }
  double variance = 0;
  for (auto& [name, sums] : families) {
    const double own = common * common * sums.together * sums.together + (1 - common * common) * sums.apart;
    variance += own;
    sums.family.family = name;
    sums.family.half_width = std::sqrt(own);
    band.families.push_back(std::move(sums.family));
  }
  std::ranges::stable_sort(band.families, std::ranges::greater{}, &FamilyBand::half_width);
  band.relative = band.seconds > 0 ? std::sqrt(variance) / band.seconds : 0;
  return band;
}

}  // namespace lockstep
