#pragma once

#include <span>
#include <string>

#include "calibration/kernels/kernel_measurements.hpp"
#include "calibration/residual_plot.hpp"

namespace lockstep {

/// A measured kernel as it was predicted before a fit and is after it.
struct KernelResidual {
  KernelMeasurement measured;
  Seconds before, after;
  std::string series;  ///< what was fitted together: a constant, or a kind of kernel
  std::string part;    ///< "fitted", "validation", "held out", "not fitted", or the name of a test
};

/// One line each, under a header: gpu, family, type, shape, series, part, measured_us, before_us, after_us,
/// error (after / measured - 1).
[[nodiscard]] std::string kernel_residuals_csv(std::span<const KernelResidual> residuals);

/// A plot of predictions over measurements, with a series for each KernelResidual::series. Shaded: the range
/// of nine in ten rows that were not learned from; hollow: those rows.
[[nodiscard]] ResidualPlot residuals_of(const std::string& title, std::span<const KernelResidual> residuals);

}  // namespace lockstep
