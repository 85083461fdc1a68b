#pragma once

#include <string>

#include "calibration/collectives/collective_fit.hpp"

namespace lockstep {

/// Errors of the fit by collective and group, apart for rows that it saw and rows held out, then the numbers
/// that moved and what each run adds.
[[nodiscard]] std::string collective_fit_text(const CollectiveMeasurements& measurements,
                                              const CollectiveFit& fit);

/// Every row as CSV: `collective,nodes,gpus_per_node,bytes,measured_us,predicted_us,error,held_out,run`.
[[nodiscard]] std::string collective_residuals_csv(const CollectiveMeasurements& measurements,
                                                   const CollectiveFit& fit);

}  // namespace lockstep
