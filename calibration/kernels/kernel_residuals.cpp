#include "calibration/kernels/kernel_residuals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibration/error_summary.hpp"

namespace lockstep {
namespace {

using namespace literals;

constexpr double kBandShare = 0.9;

bool is_learned_from(const KernelResidual& residual) {
  return residual.part == "fitted" || residual.part == "validation";
}

double error_of(const KernelResidual& residual) {
  return residual.after / residual.measured.time - 1;
}

}  // namespace

std::string kernel_residuals_csv(std::span<const KernelResidual> residuals) {
  std::string text = "gpu,family,type,shape,series,part,measured_us,before_us,after_us,error\n";
  for (const KernelResidual& residual : residuals) {
    const KernelCall& call = residual.measured.call;
    text += fmt::format("{},{},{},\"{}\",\"{}\",\"{}\",{:.6g},{:.6g},{:.6g},{:.4f}\n", residual.measured.gpu,
                        family_text(call.work), type_text(call.type), shape_text(call.work), residual.series,
                        residual.part, residual.measured.time / 1_us, residual.before / 1_us,
                        residual.after / 1_us, error_of(residual));
  }
  return text;
}

ResidualPlot residuals_of(const std::string& title, std::span<const KernelResidual> residuals) {
  ResidualPlot plot;
  plot.title = title;
  plot.hollow_means = "hollow: not learned from";
  std::vector<double> unseen;
  for (const KernelResidual& residual : residuals) {
    const auto found = std::ranges::find(plot.series, residual.series);
    const auto series = static_cast<std::size_t>(found - plot.series.begin());
    if (found == plot.series.end()) plot.series.push_back(residual.series);
    const bool is_hollow = !is_learned_from(residual);
    if (is_hollow) unseen.push_back(std::abs(error_of(residual)));
    plot.residuals.push_back(
        {residual.measured.time / 1_s, residual.after / 1_s, series, is_hollow,
         fmt::format("{} {}: {:.4g} us, predicted {:.4g} us", family_text(residual.measured.call.work),
                     shape_text(residual.measured.call.work), residual.measured.time / 1_us,
                     residual.after / 1_us)});
  }
  if (!unseen.empty()) {
    plot.band = quantile(unseen, kBandShare);
    plot.band_meaning =
        fmt::format("nine in ten rows that were not learned from: +- {:.1f} %", 100 * plot.band);
  }
  return plot;
}

}  // namespace lockstep
