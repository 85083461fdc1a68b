#include "calibration/residual_plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/svg.hpp"
#include "base/units.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/validation_figures.hpp"

namespace lockstep {
namespace {

constexpr double kMargin = 8;
constexpr double kLeft = 70;
constexpr double kRight = 40;
constexpr double kTop = 44;
constexpr double kWidth = 640;
constexpr double kHeight = 360;
constexpr double kLegendLine = 18;

/// Ratios that an axis may show, besides 1 and their inverses.
constexpr std::array kRatios{1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0};

class Scatter {
 public:
  explicit Scatter(const ResidualPlot& plot) : plot_{plot} {
    if (plot.residuals.empty()) {
      throw std::invalid_argument{"a residual plot of nothing"};
    }
    for (const PlottedResidual& residual : plot.residuals) {
      if (!(residual.measured > 0 && residual.predicted > 0)) {
        throw std::invalid_argument{"a residual plot has logarithmic axes: times are above 0"};
      }
      least_ = std::min(least_, residual.measured);
      most_ = std::max(most_, residual.measured);
      farthest_ = std::max(farthest_, std::abs(std::log(residual.predicted / residual.measured)));
    }
    least_ = std::pow(10, std::floor(std::log10(least_)));
    most_ = std::pow(10, std::ceil(std::log10(most_ * (1 + 1e-9))));
    farthest_ = 1.08 * std::max({farthest_, std::log(1 + plot.band), std::log(1.02)});
  }

  std::string draw() && {
    svg_.add(R"(<text x="{}" y="22" font-size="{:.1f}">{}</text>)", kMargin, title_size(),
             svg_escaped(plot_.title));
    draw_band();
    draw_axes();
    for (const PlottedResidual& residual : plot_.residuals) {
      draw(residual);
    }
    const double end = draw_legend();
    return svg_.document(kLeft + kWidth + kRight, end, 12);
  }

 private:
  /// Small enough for a title of one line.
  [[nodiscard]] double title_size() const {
    constexpr double kGlyph = 0.54;  // mean width over the size
    constexpr double kLine = kLeft + kWidth + kRight - 2 * kMargin;
    return std::min(15.0, kLine / (kGlyph * static_cast<double>(plot_.title.size() + 1)));
  }

  [[nodiscard]] double x_of(double seconds) const {
    return kLeft + kWidth * std::log(seconds / least_) / std::log(most_ / least_);
  }
  [[nodiscard]] double y_of(double ratio) const {
    return kTop + kHeight / 2 * (1 - std::log(ratio) / farthest_);
  }

  /// Measured times within predicted * (1 +- band).
  void draw_band() {
    if (plot_.band > 0) {
      const double top = plot_.band < 1 ? std::max(kTop, y_of(1 / (1 - plot_.band))) : kTop;
      svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="#e8eef4"/>)", kLeft, top,
               kWidth, y_of(1 / (1 + plot_.band)) - top);
    }
  }

  void draw_axes() {
    for (double decade = least_; decade <= most_ * (1 + 1e-9); decade *= 10) {
      svg_.add(R"(<path d="M{0:.1f} {1:.1f} V{2:.1f}" stroke="#dddddd"/>)", x_of(decade), kTop,
               kTop + kHeight);
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x_of(decade),
               kTop + kHeight + 18, to_string(Seconds{decade}));
    }
    draw_ratio(1);
    double last = kHeight;
    for (auto ratio = kRatios.rbegin(); ratio != kRatios.rend(); ++ratio) {
      const double height = kHeight / 2 * std::log(*ratio) / farthest_;
      if (height <= kHeight / 2 && height >= 16 && last - height >= 16) {
        draw_ratio(*ratio);
        draw_ratio(1 / *ratio);
        last = height;
      }
    }
    svg_.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" fill="#444444">measured</text>)",
             kLeft + kWidth, kTop + kHeight + 36);
    svg_.add(R"(<text x="8" y="{:.1f}" fill="#444444">predicted / measured</text>)", kTop - 6);
  }

  void draw_ratio(double ratio) {
    svg_.add(R"(<path d="M{:.1f} {:.1f} H{:.1f}" stroke="{}"/>)", kLeft, y_of(ratio), kLeft + kWidth,
             ratio == 1 ? "#444444" : "#dddddd");
    svg_.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:.3g}</text>)", kLeft - 8, y_of(ratio) + 4,
             ratio);
  }

  void draw(const PlottedResidual& residual) {
    svg_.add("{}", svg_mark(residual.series,
                            {x_of(residual.measured), y_of(residual.predicted / residual.measured), 3,
                             residual.is_hollow, 0.7},
                            fmt::format("{}: {} measured, {} predicted", residual.label,
                                        to_string(Seconds{residual.measured}),
                                        to_string(Seconds{residual.predicted}))));
  }

  /// @return where it ends
  double draw_legend() {
    double y = kTop + kHeight + 58;
    const SvgLegend legend{plot_.series, kWidth + kRight};
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      const double x = kLeft + legend.x_of(i);
      svg_.add("{}", svg_mark(i, {x + 6, y + legend.y_of(i) - 4, 4}));
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + SvgLegend::kText, y + legend.y_of(i),
               svg_escaped(plot_.series[i]));
    }
    y += legend.height();
    const auto text = [&](const std::string& what) {
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", kLeft + SvgLegend::kText, y, svg_escaped(what));
      y += kLegendLine;
    };
    if (plot_.band > 0) {
      svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" fill="#e8eef4"/>)", kLeft, y - 10);
      text(plot_.band_meaning);
    }
    svg_.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="none" stroke="#444444"/>)", kLeft + 6, y - 4);
    text(plot_.hollow_means);
    return y;
  }

  const ResidualPlot& plot_;
  double least_ = 1e300;
  double most_ = 0;
  double farthest_ = 0;  ///< from a ratio of 1, logarithm
  SvgDrawing svg_;
};

std::size_t place_in(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    names.push_back(name);
    return names.size() - 1;
  }
  return static_cast<std::size_t>(found - names.begin());
}

/// The column whose cells are series.
std::size_t series_column(const Validation& validation) {
  const ValidationSet& set = validation.set;
  const std::string name = !set.groups.empty() ? set.groups.front()
                           : !set.rows.empty() ? set.rows.begin()->first
                                               : std::string{};
  const auto found = std::ranges::find(validation.columns, name);
  return found == validation.columns.end() ? 0 : static_cast<std::size_t>(found - validation.columns.begin());
}

}  // namespace

ResidualPlot residuals_of(const Validation& validation) {
  ResidualPlot plot;
  plot.title = validation.set.title + ": " + in_words(duration_of(validation.set.predicts));
  const std::size_t column = series_column(validation);
  std::vector<double> bands;
  for (const ValidationPoint& point : validation.points) {
    const std::string series =
        validation.columns.empty() ? "all" : validation.columns[column] + " " + point.labels[column];
    plot.residuals.push_back({point.step.measured.in_base_units(), point.step.predicted.in_base_units(),
                              place_in(plot.series, series), !point.step.is_inside().value_or(true),
                              fmt::format("{}", fmt::join(point.labels, ", "))});
    if (point.step.band) {
      bands.push_back((point.step.band->faster + point.step.band->slower) / 2);
    }
  }
  plot.band = bands.empty() ? 0 : quantile(bands, 0.5);
  plot.band_meaning = fmt::format("median predicted band, +- {:.0f} %", 100 * plot.band);
  plot.hollow_means = "hollow: measured outside the band of its own prediction";
  return plot;
}

ResidualPlot residuals_of(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  ResidualPlot plot;
  plot.title = "collectives";
  std::vector<double> held_out;
  for (const FittedRow& row : fit.rows) {
    const CollectiveMeasurement& measured = measurements.rows[row.measurement];
    const std::string series =
        fmt::format("{}, {} x {}", to_string(measured.kind), measured.nodes, measured.gpus_per_node);
    plot.residuals.push_back({measured.time.in_base_units(), row.predicted.in_base_units(),
                              place_in(plot.series, series), row.held_out,
                              fmt::format("{}, {}", series, to_string(measured.size))});
    if (row.held_out) {
      held_out.push_back(std::abs(measured.time / row.predicted - 1));
    }
  }
  plot.band = held_out.empty() ? 0 : quantile(held_out, 0.9);
  plot.band_meaning = fmt::format("nine in ten held-out rows: +- {:.1f} %", 100 * plot.band);
  plot.hollow_means = "hollow: held out from the fit";
  return plot;
}

std::string to_svg(const ResidualPlot& plot) {
  return Scatter{plot}.draw();
}

}  // namespace lockstep
