#pragma once

#include <string>
#include <vector>

#include "calibration/collectives/collective_fit.hpp"
#include "calibration/validate.hpp"

namespace lockstep {

struct PlottedResidual {
  double measured = 0;     ///< s
  double predicted = 0;    ///< s
  std::size_t series = 0;  ///< index into ResidualPlot::series
  bool is_hollow = false;
  std::string label;  ///< tooltip
};

/// Predicted over measured against measured, both axes logarithmic.
struct ResidualPlot {
  std::string title;
  std::vector<std::string> series;
  std::vector<PlottedResidual> residuals;
  double band = 0;           ///< relative half-width of predictions, shaded
  std::string band_meaning;  ///< in the legend
  std::string hollow_means;  ///< likewise
};

/// Step times; a series for each cell of the first column of groups; shaded: the median band; hollow:
/// measured outside its own prediction's band.
[[nodiscard]] ResidualPlot residuals_of(const Validation& validation);

/// Collectives; a series for each; shaded: what nine in ten held-out rows are within; hollow: held out.
[[nodiscard]] ResidualPlot residuals_of(const CollectiveMeasurements& measurements, const CollectiveFit& fit);

/// @throws std::invalid_argument for a plot without residuals, or a time that is not above zero
[[nodiscard]] std::string to_svg(const ResidualPlot& plot);

}  // namespace lockstep
