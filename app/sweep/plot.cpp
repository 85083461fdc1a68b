#include "app/sweep/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/svg.hpp"

namespace lockstep {
namespace {

constexpr double kLeft = 86;
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
    step_ = axis_step(largest_);
    top_value_ = step_ * std::max(1.0, std::ceil(largest_ / step_ * (1 - 1e-12)));
    const double wanted =
        std::max(70.0, plot.is_ordered ? 90.0 : 26.0 * static_cast<double>(plot.series.size()) + 24);
    slot_ = std::min(wanted, 1400 / static_cast<double>(plot.categories.size()));
    slot_ = std::max(slot_, 420 / static_cast<double>(plot.categories.size()));
  }

  std::string draw() && {
    const double width = kLeft + slot_ * static_cast<double>(plot_.categories.size()) + 40;
    const SvgLegend legend{names(), width - kLeft};
    const double height = kTop + kHeight + label_height() + 38 + legend.height();
    svg_.add(R"(<text x="{:.1f}" y="24" font-size="15">{}</text>)", kLeft,
             svg_escaped(plot_.title + (plot_.unit.empty() ? "" : ", " + plot_.unit)));
    draw_axes(width);
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      plot_.is_ordered ? draw_line(i) : draw_bars(i);
    }
    draw_legend(legend);
    return svg_.document(width, height, 12);
  }

 private:
  [[nodiscard]] double x_of(std::size_t category) const {
    return kLeft + slot_ * (static_cast<double>(category) + 0.5);
  }
  [[nodiscard]] double y_of(double value) const { return kTop + kHeight * (1 - value / top_value_); }
  /// In the legend: none of a single series.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const PlotSeries& series : plot_.series) {
      names.push_back(series.name);
    }
    return names.size() < 2 ? std::vector<std::string>{} : names;
  }

  void draw_axes(double width) {
    const auto lines = static_cast<int>(std::lround(top_value_ / step_));
    for (int i = 0; i <= lines; ++i) {
      const double value = i * step_;
      svg_.add(R"(<path d="M{:.1f} {:.1f} H{:.1f}" stroke="{}"/>)", kLeft, y_of(value), width - 40,
               i == 0 ? "#444444" : "#dddddd");
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:.6g}</text>)", kLeft - 8, y_of(value) + 4,
               value);
    }
    for (std::size_t i = 0; i < plot_.categories.size(); ++i) {
      draw_label(i);
    }
    svg_.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" fill="#444444">{}</text>)", width - 40,
             kTop + kHeight + label_height() + 20, svg_escaped(plot_.x));
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

  void draw_legend(const SvgLegend& legend) {
    const double top = kTop + kHeight + label_height() + 40;
    const std::vector<std::string> shown = names();
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const double x = kLeft + legend.x_of(i), y = top + legend.y_of(i);
      if (plot_.is_ordered) {
        svg_.add(R"(<path d="M{:.1f} {:.1f} h28" {}/>)", x - 14, y - 4, svg_line(i));
        svg_.add("{}", svg_mark(i, {x, y - 4}));
      } else {
        svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" {}/>)", x, y - 10, svg_bar(i));
      }
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + SvgLegend::kText, y, svg_escaped(shown[i]));
    }
  }

  const Plot& plot_;
  double largest_ = 0;
  double step_ = 1;
  double top_value_ = 1;
  double slot_ = 0;
  SvgDrawing svg_;
};

}  // namespace

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

std::string to_svg(const Plot& plot) {
  return PlotDrawing{plot}.draw();
}

}  // namespace lockstep
