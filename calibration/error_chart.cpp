#include "calibration/error_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/chart.hpp"
#include "base/svg.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/validation_figures.hpp"

namespace lockstep {
namespace {

constexpr double kMargin = 8;
constexpr double kLeft = 430;  ///< of the axis
constexpr double kWidth = 420;
constexpr double kRight = 124;  ///< figures
constexpr double kTop = 58;
constexpr double kRow = 27;
constexpr double kFarthest = 2;          ///< ratio at the axis' end
constexpr double kShaded = 0.1;          ///< off
constexpr std::size_t kEachPoint = 250;  ///< points of a set that are drawn one by one
constexpr std::size_t kLongestTitle = 88;
constexpr std::array kRatios{0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0};

const ChartScale& ratio_scale() {
  static const ChartScale scale =
      ChartPanel{kLeft, kTop, kWidth, 0}.across({1 / kFarthest, kFarthest}, ChartScale::Spacing::Logarithmic);
  return scale;
}

/// Ratios beyond the axis are drawn at its end.
double x_of(double ratio) {
  return ratio_scale().at(std::clamp(ratio, 1 / kFarthest, kFarthest));
}

/// The title without the source in brackets at its end, or cut at a word.
std::string shortened(const std::string& title) {
  if (title.size() <= kLongestTitle) return title;
  const auto bracket = title.rfind(" (");
  if (title.ends_with(')') && bracket <= kLongestTitle) return title.substr(0, bracket);
  return title.substr(0, title.find_last_of(' ', kLongestTitle)) + " ...";
}

void check(std::span<const ErrorChartRow> rows) {
  if (rows.empty()) throw std::invalid_argument{"a chart of no errors"};
  for (const ErrorChartRow& row : rows) {
    if (row.ratios.empty() || !(std::ranges::min(row.ratios) > 0)) {
      throw std::invalid_argument{fmt::format("{}: ratios that are drawn are there, and above 0", row.name)};
    }
  }
}

void draw_ratio_axis(SvgDrawing& svg, double bottom) {
  svg.add(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{:.1f}" fill="#e8eef4"/>)", x_of(1 - kShaded),
          kTop, x_of(1 + kShaded) - x_of(1 - kShaded), bottom - kTop);
  std::vector<ChartTick> ticks;
  for (const double ratio : kRatios) {
    ticks.push_back({ratio, fmt::format("{}", ratio), ratio == 1});
  }
  const ChartPanel panel{kLeft, kTop, kWidth, bottom - kTop};
  draw_axis(svg, panel, ChartSide::Top, ratio_scale(), ticks);
  draw_axis_name(svg, panel, ChartSide::Top, "predicted / measured");
  svg.add(R"(<text x="{}" y="{}" fill="#444444">points, mean error</text>)", kLeft + kWidth + 10, kTop - 6);
}

void draw_row(SvgDrawing& svg, const ErrorChartRow& row, double middle) {
  svg.add(R"(<text x="{}" y="{:.1f}">{}</text>)", kMargin, middle, svg_escaped(row.name));
  svg.add(R"(<text x="{}" y="{:.1f}" font-size="9" fill="#666666">{}</text>)", kMargin, middle + 11,
          svg_escaped(shortened(row.title)));
  std::vector<double> errors;
  for (const double ratio : row.ratios) errors.push_back(ratio - 1);
  const ErrorSummary summary = summarise(errors);
  const auto at = [&](double share) { return x_of(quantile(row.ratios, share)); };
  svg.add(
      R"svg(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="10" rx="2" fill="#0072b2" fill-opacity="0.3"><title>{}: nine in ten within {:.1f} %, mean {:.1f} %, bias {:+.1f} %</title></rect>)svg",
      at(0.1), middle - 4, at(0.9) - at(0.1), svg_escaped(row.name), 100 * summary.ninetieth,
      100 * summary.mean, 100 * summary.bias);
  if (row.ratios.size() <= kEachPoint) {
    for (const double ratio : row.ratios) {
      svg.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="1.8" fill="#0072b2" fill-opacity="0.6"/>)", x_of(ratio),
              middle + 1);
    }
  }
  svg.add(R"(<path d="M{0:.1f} {1:.1f} v14" stroke="#d55e00" stroke-width="2"/>)", at(0.5), middle - 6);
  svg.add(R"(<text x="{}" y="{:.1f}">{}, {:.1f} %</text>)", kLeft + kWidth + 10, middle + 5,
          row.ratios.size(), 100 * summary.mean);
}

std::vector<double> ratios_of(const Validation& validation, ComparedQuantity quantity) {
  std::vector<double> ratios;
  for (const ValidationPoint& point : validation.points) {
    if (const ComparedTime* time = compared(point, quantity))
      ratios.push_back(time->predicted / time->measured);
  }
  return ratios;
}

}  // namespace

std::vector<ErrorChartRow> error_chart_rows(std::span<const Validation> validations, PredictedThing thing) {
  std::vector<ErrorChartRow> rows;
  for (const Validation& validation : validations) {
    if (validation.set.predicts != thing) continue;
    for (const ComparedQuantity quantity : validation.set.quantities()) {
      auto ratios = ratios_of(validation, quantity);
      if (ratios.empty()) continue;
      const bool is_busy = quantity == ComparedQuantity::GpuBusy;
      rows.push_back({validation.set.name + (is_busy ? ", GPU busy time" : ""), validation.set.title,
                      std::move(ratios)});
    }
  }
  return rows;
}

std::string error_chart(const std::string& title, std::span<const ErrorChartRow> rows) {
  check(rows);
  SvgDrawing svg;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  svg.add(R"(<text x="{}" y="22" font-size="15">{}</text>)", kMargin, svg_escaped(title));
  draw_ratio_axis(svg, bottom);
  double middle = kTop + kRow / 2 - 2;
  for (const ErrorChartRow& row : rows) {
    draw_row(svg, row, middle);
    middle += kRow;
  }
  svg.add(
      R"(<text x="{}" y="{:.1f}" fill="#444444">bar: 10th to 90th percentile; stroke: median; shaded: 10 % off; dots: the points of sets of up to {}</text>)",
      kMargin, bottom + 18, kEachPoint);
  return svg.document(kLeft + kWidth + kRight, bottom + 28, 11);
}

}  // namespace lockstep
