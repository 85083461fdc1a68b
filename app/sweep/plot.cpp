#include "app/sweep/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/chart.hpp"
#include "base/svg.hpp"

namespace lockstep {
namespace {

constexpr double kLeft = 86;
constexpr double kRight = 40;
constexpr double kTop = 48;
constexpr double kHeight = 300;
constexpr std::size_t kLabelWidth = 28;

std::string shortened(const std::string& text) {
  return text.size() <= kLabelWidth ? text : text.substr(0, kLabelWidth - 2) + "..";
}

class PlotDrawing {
 public:
  explicit PlotDrawing(const Plot& plot) : plot_{plot} {
    for (const PlotSeries& series : plot.series) {
      for (const auto& value : series.values) {
        largest_ = std::max(largest_, value.value_or(0));
      }
    }
    const double step = axis_step(largest_);
    top_value_ = step * std::max(1.0, std::ceil(largest_ / step * (1 - 1e-12)));
    const double wanted =
        std::max(70.0, plot.is_ordered ? 90.0 : 26.0 * static_cast<double>(plot.series.size()) + 24);
    slot_ = std::min(wanted, 1400 / static_cast<double>(plot.categories.size()));
    slot_ = std::max(slot_, 420 / static_cast<double>(plot.categories.size()));
    panel_ = {kLeft, kTop, slot_ * static_cast<double>(plot.categories.size()), kHeight};
  }

  std::string draw() && {
    svg_.add(R"(<text x="{:.1f}" y="24" font-size="15">{}</text>)", kLeft,
             svg_escaped(plot_.title + (plot_.unit.empty() ? "" : ", " + plot_.unit)));
    draw_axes();
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      plot_.is_ordered ? draw_line(i) : draw_bars(i);
    }
    const ChartPanel below{kLeft, panel_.bottom() + label_height() + 40, panel_.width + kRight, 0};
    const double end =
        draw_legend(svg_, below, plot_.is_ordered ? LegendMark::Line : LegendMark::Bar, names());
    return svg_.document(panel_.right() + kRight, end - 2, 12);
  }

 private:
  [[nodiscard]] double x_of(std::size_t category) const {
    return kLeft + slot_ * (static_cast<double>(category) + 0.5);
  }
  [[nodiscard]] double y_of(double value) const { return panel_.upwards({0, top_value_}).at(value); }
  /// In the legend: none of a single series.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const PlotSeries& series : plot_.series) {
      names.push_back(series.name);
    }
    return names.size() < 2 ? std::vector<std::string>{} : names;
  }

  void draw_axes() {
    draw_axis(svg_, panel_, ChartSide::Left, panel_.upwards({0, top_value_}), round_ticks({0, top_value_}));
    for (std::size_t i = 0; i < plot_.categories.size(); ++i) {
      draw_label(i);
    }
    const ChartPanel with_labels{panel_.left, panel_.top, panel_.width, panel_.height + label_height() - 18};
    draw_axis_name(svg_, with_labels, ChartSide::Bottom, plot_.x);
  }

  /// Short names stand upright below their marks, longer ones lean.
  [[nodiscard]] bool are_short() const {
    return std::ranges::all_of(plot_.categories, [&](const std::string& name) {
      return static_cast<double>(name.size()) * 7 < slot_;
    });
  }
  [[nodiscard]] double label_height() const { return are_short() ? 22 : 92; }

  void draw_label(std::size_t i) {
    const std::string& name = plot_.categories[i];
    if (are_short()) {
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x_of(i), kTop + kHeight + 18,
               svg_escaped(name));
      return;
    }
    svg_.add(
        R"svg(<text transform="translate({:.1f} {:.1f}) rotate(-25)" text-anchor="end">{}<title>{}</title></text>)svg",
        x_of(i), kTop + kHeight + 18, svg_escaped(shortened(name)), svg_escaped(name));
  }

  [[nodiscard]] std::string tooltip(const PlotSeries& series, std::size_t category) const {
    return fmt::format("{}{}{}: {:.4g} {}", series.name, series.name.empty() ? "" : ", ",
                       plot_.categories[category], *series.values[category], plot_.unit);
  }

  void draw_line(std::size_t number) {
    const PlotSeries& series = plot_.series[number];
    std::string path;
    bool is_joined = false;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (series.values[i]) {
        path += fmt::format("{}{:.1f} {:.1f} ", is_joined ? "L" : "M", x_of(i), y_of(*series.values[i]));
      }
      is_joined = series.values[i].has_value();
    }
    svg_.add(R"(<path d="{}" {}/>)", path, svg_line(number));
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (series.values[i]) {
        svg_.add("{}", svg_mark(number, {x_of(i), y_of(*series.values[i])}, tooltip(series, i)));
      }
    }
  }

  void draw_bars(std::size_t number) {
    const PlotSeries& series = plot_.series[number];
    const double width = 0.8 * slot_ / static_cast<double>(plot_.series.size());
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (series.values[i]) {
        const double x = x_of(i) - 0.4 * slot_ + width * static_cast<double>(number);
        svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" {}><title>{}</title></rect>)",
                 x, y_of(*series.values[i]), 0.92 * width, kTop + kHeight - y_of(*series.values[i]),
                 svg_bar(number), svg_escaped(tooltip(series, i)));
      }
    }
  }

  const Plot& plot_;
  double largest_ = 0;
  double top_value_ = 1;
  double slot_ = 0;
  ChartPanel panel_;
  SvgDrawing svg_;
};

}  // namespace

std::string to_svg(const Plot& plot) {
  return PlotDrawing{plot}.draw();
}

}  // namespace lockstep
