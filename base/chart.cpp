#include "base/chart.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lockstep {

ChartScale::ChartScale(const Range& values, const Range& pixels, Spacing spacing)
    : values_{values}, pixels_{pixels}, spacing_{spacing} {}

double ChartScale::at(double value) const {
  const double share = spacing_ == Spacing::Linear
                           ? (value - values_.from) / (values_.to - values_.from)
                           : std::log(value / values_.from) / std::log(values_.to / values_.from);
  return pixels_.from + (pixels_.to - pixels_.from) * share;
}

double axis_step(double largest) {
  if (!(largest > 0)) {
    return 1;
  }
  const double power = std::pow(10, std::floor(std::log10(largest / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (largest / (factor * power) <= 6) {
      return factor * power;
    }
  }
  return 10 * power;
}

std::vector<ChartTick> round_ticks(const ChartScale::Range& values, const std::string& unit) {
  constexpr double kRounding = 1e-9;
  const double step = axis_step(values.to - values.from);
  std::vector<ChartTick> ticks;
  for (double i = std::ceil(values.from / step - kRounding); i * step <= values.to + kRounding * step; ++i) {
    const double value = i * step + 0.0;  // no negative zero
    ticks.push_back({value, fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit), value == 0});
  }
  return ticks;
}

ChartScale ChartPanel::across(const ChartScale::Range& values, ChartScale::Spacing spacing) const {
  return {values, {left, right()}, spacing};
}

ChartScale ChartPanel::upwards(const ChartScale::Range& values, ChartScale::Spacing spacing) const {
  return {values, {bottom(), top}, spacing};
}

void draw_axis(SvgDrawing& svg, const ChartPanel& panel, ChartSide side, const ChartScale& scale,
               std::span<const ChartTick> ticks) {
  for (const ChartTick& tick : ticks) {
    const double at = scale.at(tick.value);
    const char* const colour = tick.is_strong ? "#444444" : "#dddddd";
    if (side == ChartSide::Left) {
      svg.add(R"(<path d="M{:.1f} {:.1f} H{:.1f}" stroke="{}"/>)", panel.left, at, panel.right(), colour);
      svg.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", panel.left - 8, at + 4,
              svg_escaped(tick.label));
      continue;
    }
    svg.add(R"(<path d="M{:.1f} {:.1f} V{:.1f}" stroke="{}"/>)", at, panel.top, panel.bottom(), colour);
    svg.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", at,
            side == ChartSide::Top ? panel.top - 6 : panel.bottom() + 18, svg_escaped(tick.label));
  }
}

void draw_axis_name(SvgDrawing& svg, const ChartPanel& panel, ChartSide side, const std::string& name) {
  const bool is_left = side == ChartSide::Left;
  const double x = is_left ? panel.left : side == ChartSide::Top ? panel.left - 24 : panel.right();
  const double y = side == ChartSide::Bottom ? panel.bottom() + 38 : panel.top - 6;
  svg.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="#444444">{}</text>)", x, y,
          is_left ? "start" : "end", svg_escaped(name));
}

double draw_legend(SvgDrawing& svg, const ChartPanel& place, LegendMark mark,
                   const std::vector<std::string>& names) {
  if (names.empty()) {
    return place.top;
  }
  const SvgLegend legend{names, place.width};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double x = place.left + legend.x_of(i);
    const double y = place.top + legend.y_of(i);
    switch (mark) {
      case LegendMark::Point:
        svg.add("{}", svg_mark(i, {x + 6, y - 4}));
        break;
      case LegendMark::Line:
        svg.add(R"(<path d="M{:.1f} {:.1f} h28" {}/>)", x - 14, y - 4, svg_line(i));
        svg.add("{}", svg_mark(i, {x, y - 4}));
        break;
      case LegendMark::Bar:
        svg.add(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" {}/>)", x, y - 10, svg_bar(i));
        break;
    }
    svg.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + SvgLegend::kText, y, svg_escaped(names[i]));
  }
  return place.top + legend.height();
}

}  // namespace lockstep
