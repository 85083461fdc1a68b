#pragma once

#include <string>
#include <vector>

#include "calibration/collectives/collective_fit.hpp"

namespace lockstep {

/// Reasons to doubt a fit, each in a sentence; empty for a sound one.
///
///   misfit    a collective on groups of one shape whose messages of at least 64 KiB are missed by more than
///             25 % on average, of those held out or of those fitted: no profile explains it there
///   far off   a number that moved by more than FittedNumber::plausible: it stands for something else
[[nodiscard]] std::vector<std::string> fit_doubts(const CollectiveMeasurements& measurements,
                                                  const CollectiveFit& fit);

}  // namespace lockstep
