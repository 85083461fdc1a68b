#include "calibration/residual_plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/chart.hpp"
#include "base/svg.hpp"
#include "base/units.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/validation_figures.hpp"

namespace lockstep {
namespace {

constexpr double kMargin = 8;
constexpr ChartPanel kPanel{70, 44, 640, 360};
constexpr double kRight = 40;
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
    const double end = draw_words();
    return svg_.document(kPanel.left + kPanel.width + kRight, end, 12);
  }

 private:
  /// Small enough for a title of one line.
  [[nodiscard]] double title_size() const {
    constexpr double kGlyph = 0.54;  // mean width over the size
    constexpr double kLine = kPanel.left + kPanel.width + kRight - 2 * kMargin;
    return std::min(15.0, kLine / (kGlyph * static_cast<double>(plot_.title.size() + 1)));
  }

  [[nodiscard]] ChartScale times() const {
    return kPanel.across({least_, most_}, ChartScale::Spacing::Logarithmic);
  }
  [[nodiscard]] ChartScale ratios() const {
    return kPanel.upwards({std::exp(-farthest_), std::exp(farthest_)}, ChartScale::Spacing::Logarithmic);
  }
  [[nodiscard]] double x_of(double seconds) const { return times().at(seconds); }
  [[nodiscard]] double y_of(double ratio) const { return ratios().at(ratio); }

  /// Measured times within predicted * (1 +- band).
  void draw_band() {
    if (plot_.band > 0) {
      const double top = plot_.band < 1 ? std::max(kPanel.top, y_of(1 / (1 - plot_.band))) : kPanel.top;
      svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="#e8eef4"/>)", kPanel.left,
               top, kPanel.width, y_of(1 / (1 + plot_.band)) - top);
    }
  }

  void draw_axes() {
    std::vector<ChartTick> decades;
    for (double decade = least_; decade <= most_ * (1 + 1e-9); decade *= 10) {
      decades.push_back({decade, to_string(Seconds{decade})});
    }
    draw_axis(svg_, kPanel, ChartSide::Bottom, times(), decades);
    draw_axis(svg_, kPanel, ChartSide::Left, ratios(), ratio_ticks());
    draw_axis_name(svg_, kPanel, ChartSide::Bottom, "measured");
    draw_axis_name(svg_, kPanel, ChartSide::Left, "predicted / measured");
  }

  /// 1, and ratios with their inverses, as many as have room.
  [[nodiscard]] std::vector<ChartTick> ratio_ticks() const {
    constexpr double kHalf = kPanel.height / 2;
    constexpr double kApart = 16;
    std::vector<ChartTick> ticks{{1, "1", true}};
    double last = kPanel.height;
    for (auto ratio = kRatios.rbegin(); ratio != kRatios.rend(); ++ratio) {
      const double height = kHalf * std::log(*ratio) / farthest_;
      if (height <= kHalf && height >= kApart && last - height >= kApart) {
        ticks.push_back({*ratio, fmt::format("{:.3g}", *ratio)});
        ticks.push_back({1 / *ratio, fmt::format("{:.3g}", 1 / *ratio)});
        last = height;
      }
    }
    return ticks;
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
  double draw_words() {
    double y = draw_legend(svg_, {kPanel.left, kPanel.bottom() + 58, kPanel.width + kRight, 0},
                           LegendMark::Point, plot_.series);
    const auto text = [&](const std::string& what) {
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", kPanel.left + SvgLegend::kText, y,
               svg_escaped(what));
      y += kLegendLine;
    };
    if (plot_.band > 0) {
      svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" fill="#e8eef4"/>)", kPanel.left, y - 10);
      text(plot_.band_meaning);
    }
    svg_.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="none" stroke="#444444"/>)", kPanel.left + 6,
             y - 4);
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
