#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/schedule/schedule_report.hpp"
#include "base/chart.hpp"
#include "base/svg.hpp"

namespace lockstep {
namespace {

constexpr double kLeft = 110, kWidth = 700, kRow = 34, kTop = 50;
constexpr double kSteps = 200;           // height of the panel of steps
constexpr double kColumns = 480;         // its width
constexpr std::size_t kMostColumns = 8;  // distinct phases that are drawn
constexpr double kGlyph = 6.2;           // of 12 pixels' height, mean width

/// A unit of time for an axis.
struct TimeUnit {
  double seconds;
  const char* name;
};

TimeUnit unit_for(double seconds) {
  for (const TimeUnit unit :
       {TimeUnit{86400, "days"}, TimeUnit{3600, "h"}, TimeUnit{60, "min"}, TimeUnit{1, "s"}}) {
    if (seconds >= 2 * unit.seconds) {
      return unit;
    }
  }
  return {1e-3, "ms"};
}

std::string fitting(const std::string& text, double width) {
  const auto glyphs = static_cast<std::size_t>(std::max(0.0, width / kGlyph));
  return text.size() <= glyphs ? text : glyphs < 4 ? "" : text.substr(0, glyphs - 2) + "..";
}

class SchedulePicture {
 public:
  explicit SchedulePicture(const SchedulePrediction& prediction)
      : prediction_{prediction},
        longest_{std::max(prediction.totals.seconds, prediction.totals.dense_seconds)},
        unit_{unit_for(longest_)} {}

  std::string draw() && {
    svg_.add(R"(<text x="{}" y="24" font-size="14" font-weight="bold">{}</text>)", kLeft,
             svg_escaped(fitting(prediction_.name, kWidth)));
    draw_trainings();
    draw_steps(kTop + 2 * kRow + 90);
    draw_losses(kTop + 2 * kRow + 90 + kSteps + 110);
    return svg_.document(kLeft + kWidth + 60, bottom_, 12);
  }

 private:
  [[nodiscard]] double x_of(double seconds) const { return kLeft + kWidth * seconds / longest_; }

  void box(double x, double y, double width, double height, const std::string& style,
           const std::string& title) {
    svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" {}><title>{}</title></rect>)", x,
             y, width, height, style, svg_escaped(title));
  }

  /// The dense training above the schedule, along time.
  void draw_trainings() {
    const double dense = prediction_.totals.dense_seconds;
    draw_time_axis(kTop + 2 * kRow);
    svg_.add(R"(<text x="{}" y="{}" text-anchor="end">dense</text>)", kLeft - 8, kTop + 20);
    svg_.add(R"(<text x="{}" y="{}" text-anchor="end">schedule</text>)", kLeft - 8, kTop + kRow + 20);
    box(kLeft, kTop, x_of(dense) - kLeft, kRow - 8, R"(fill="#bbbbbb")", "dense: " + long_time(dense));
    double at = 0;
    for (std::size_t i = 0; i < prediction_.phases.size(); ++i) {
      if (i > 0) at = draw_transition(i, at);
      at = draw_phase(prediction_.phases[i], at);
    }
    const double saved = dense - at;
    if (saved > 0) {
      box(x_of(at), kTop + kRow, x_of(dense) - x_of(at), kRow - 8,
          R"(fill="none" stroke="#009e73" stroke-dasharray="4 3")", "saved: " + long_time(saved));
      svg_.add(R"(<text x="{:.1f}" y="{}" fill="#007a59">{}</text>)", x_of(at) + 4, kTop + kRow + 18,
               fitting("saved " + long_time(saved), x_of(dense) - x_of(at) - 4));
    }
  }

  double draw_phase(const PredictedPhase& phase, double at) {
    const double until = at + phase.time.seconds();
    const std::string style =
        fmt::format(R"(fill="{}" fill-opacity="{:.2f}" stroke="white")", svg_colour(0),
                    0.25 + 0.6 * phase.figures.step / std::max(prediction_.full.step, phase.figures.step));
    box(x_of(at), kTop + kRow, x_of(until) - x_of(at), kRow - 8, style,
        fmt::format("{}: {} in {:.0f} steps of {}", phase.name, long_time(phase.time.seconds()), phase.steps,
                    to_string(Seconds{phase.figures.step})));
    svg_.add(R"(<text x="{:.1f}" y="{}" fill="#000000">{}</text>)", x_of(at) + 4, kTop + kRow + 18,
             svg_escaped(fitting(phase.name, x_of(until) - x_of(at) - 6)));
    return until;
  }

  double draw_transition(std::size_t phase, double at) {
    const double seconds = prediction_.transitions[phase - 1].seconds;
    box(x_of(at), kTop + kRow - 4, std::max(1.0, x_of(at + seconds) - x_of(at)), kRow, R"(fill="#d55e00")",
        fmt::format("{} to {}: {}", prediction_.phases[phase - 1].name, prediction_.phases[phase].name,
                    long_time(seconds)));
    return at + seconds;
  }

  void draw_time_axis(double bottom) {
    const ChartPanel panel{kLeft, kTop, kWidth, bottom - kTop};
    const ChartScale::Range values{0, longest_ / unit_.seconds};
    draw_axis(svg_, panel, ChartSide::Bottom, panel.across(values), round_ticks(values));
    draw_axis_name(svg_, panel, ChartSide::Bottom, fmt::format("time, {} (orange: transitions)", unit_.name));
  }

  /// A column for each distinct phase, the full step first.
  void draw_steps(double top) {
    std::vector<const StepFigures*> columns{&prediction_.full};
    std::vector<std::string> names{"full"};
    for (std::size_t i = 0; i < prediction_.phases.size() && columns.size() < kMostColumns; ++i) {
      const PredictedPhase& phase = prediction_.phases[i];
      if (phase.alike == i && phase.figures.step != prediction_.full.step) {
        columns.push_back(&phase.figures);
        names.push_back(phase.name);
      }
    }
    double longest = 0;
    for (const StepFigures* column : columns) longest = std::max(longest, column->step);
    svg_.add(
        R"(<text x="{}" y="{}" font-weight="bold">a step, by part{}; line: what its FLOPs promise</text>)",
        kLeft, top - 12, prediction_.full.along_path ? " of the critical path" : "");
    draw_step_axis(top, longest);
    const double pitch = kColumns / static_cast<double>(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      draw_column({kLeft + pitch * (static_cast<double>(i) + 0.15), top, 0.7 * pitch, longest}, *columns[i],
                  names[i]);
    }
    draw_parts_legend(top);
  }

  void draw_step_axis(double top, double longest) {
    const TimeUnit unit = unit_for(longest);
    const ChartPanel panel{kLeft, top, kColumns, kSteps};
    const ChartScale::Range values{0, longest / unit.seconds};
    draw_axis(svg_, panel, ChartSide::Left, panel.upwards(values), round_ticks(values, unit.name));
  }

  struct Column {
    double x, top, width, longest;
  };

  void draw_column(const Column& place, const StepFigures& figures, const std::string& name) {
    double y = place.top + kSteps;
    for (const auto& [part, what] : names_of(StepPart{})) {
      const auto number = static_cast<std::size_t>(part);
      const double height = kSteps * figures.parts[number] / place.longest;
      if (height <= 0) {
        continue;
      }
      y -= height;
      box(place.x, y, place.width, height, svg_bar(number),
          fmt::format("{}: {}, {:.1f} %", what, to_string(Seconds{figures.parts[number]}),
                      100 * figures.parts[number] / figures.step));
    }
    svg_.add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", place.x + place.width / 2,
             place.top + kSteps + 16, svg_escaped(fitting(name, place.width * 1.35)));
    if (prediction_.full.flops > 0 && &figures != &prediction_.full) {
      const double promised = prediction_.full.step * figures.flops / prediction_.full.flops;
      const double at = place.top + kSteps * (1 - promised / place.longest);
      svg_.add(
          R"(<path d="M{:.1f} {:.1f} h{:.1f}" stroke="#000000" stroke-width="2" stroke-dasharray="5 3"/>)",
          place.x - 5, at, place.width + 10);
    }
  }

  void draw_parts_legend(double top) {
    std::vector<std::string> names;
    for (const auto& [part, what] : names_of(StepPart{})) {
      names.emplace_back(what);
    }
    draw_legend(svg_, {kLeft + kColumns + 30, top + 8, kWidth - kColumns - 30, 0}, LegendMark::Bar, names);
  }

  /// FLOPs saved, less what each part takes of it, is time saved.
  void draw_losses(double top) {
    std::vector<std::pair<std::string, double>> rows{{"FLOPs saved", prediction_.totals.flops_saved()}};
    for (const auto& [part, what] : names_of(StepPart{})) {
      rows.emplace_back(what, -prediction_.lost[static_cast<std::size_t>(part)]);
    }
    rows.emplace_back("transitions", -prediction_.lost_to_transitions - prediction_.lost_to_warm_up);
    std::stable_sort(rows.begin() + 1, rows.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    std::erase_if(rows, [](const auto& row) { return std::abs(row.second) < 5e-5; });
    double least = 0, most = std::max(0.0, prediction_.totals.flops_saved()), sum = 0;
    for (const auto& [what, share] : rows) {
      sum += share;
      least = std::min(least, sum);
      most = std::max(most, sum);
    }
    const double widest = std::max(1e-9, most - least);
    const ChartScale scale{{least, least + widest}, {kLeft + 60, kLeft + 620}};
    svg_.add(
        R"(<text x="{}" y="{}" font-weight="bold">from FLOPs saved to time saved, % of the dense training</text>)",
        kLeft, top - 12);
    double y = top, at = 0;
    for (const auto& [what, share] : rows) {
      draw_bar(y, {scale.at(at), scale.at(at + share)}, what, share);
      at += share;
      y += 20;
    }
    const double saved = prediction_.totals.time_saved();
    draw_bar(y, {scale.at(0), scale.at(saved)}, "time saved", saved);
    bottom_ = y + 50;
  }

  /// @param pixels between which the bar lies
  void draw_bar(double y, const ChartScale::Range& pixels, const std::string& what, double share) {
    const bool is_total = what == "FLOPs saved" || what == "time saved";
    const char* const colour = is_total ? "#0072b2" : share < 0 ? "#d55e00" : "#009e73";
    svg_.add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft + 52, y + 12, what);
    box(std::min(pixels.from, pixels.to), y, std::max(1.0, std::abs(pixels.to - pixels.from)), 15,
        fmt::format(R"(fill="{}")", colour), fmt::format("{}: {:+.2f} %", what, 100 * share));
    svg_.add(R"(<text x="{:.1f}" y="{:.1f}">{:+.2f} %</text>)", std::max(pixels.from, pixels.to) + 6, y + 12,
             100 * share);
  }

  const SchedulePrediction& prediction_;
  double longest_;
  TimeUnit unit_;
  double bottom_ = 0;
  SvgDrawing svg_;
};

}  // namespace

std::string schedule_svg(const SchedulePrediction& prediction) {
  return SchedulePicture{prediction}.draw();
}

}  // namespace lockstep
