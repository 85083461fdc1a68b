#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "app/plans/plan_text.hpp"
#include "base/chart.hpp"
#include "base/svg.hpp"

namespace lockstep {
namespace {

constexpr ChartPanel kPanel{80, 50, 620, 360};
constexpr double kShownBeyondFront = 3;  // step times up to so often the slowest of the front
constexpr std::size_t kMostDots = 1500;  // of estimates for a number of GPUs, the fastest
constexpr std::size_t kLongestName = 90;
constexpr double kBeginsBeyond =
    0.3;  // of the axis of step times: where the fastest is later, it does not begin at 0

class ParetoPicture {
 public:
  ParetoPicture(const PlanEvaluator& evaluator, const PlanSearchResult& result)
      : evaluator_{evaluator}, result_{result} {
    const auto& marked = result.front.empty() ? result.estimated : result.front;
    double slowest = 0, fastest = std::numeric_limits<double>::infinity();
    for (const FoundPlan& plan : marked) {
      slowest = std::max(slowest, plan.figures().step);
      fastest = std::min(fastest, plan.figures().step);
      memory_ = std::max(memory_, plan.figures().memory);
    }
    step_ = result.front.empty() ? slowest : slowest * 1.05;
    const double capacity = evaluator.capacity().in_base_units();
    memory_ = std::isfinite(capacity) ? std::max(memory_, capacity) : memory_;
    for (const FoundPlan& plan : result.plans) {
      step_ = std::max(step_, std::min(plan.figures().step, kShownBeyondFront * slowest));
    }
    if (fastest > kBeginsBeyond * step_ && std::isfinite(fastest)) {
      const double mark = axis_step(step_ - fastest);
      first_ = std::max(0.0, (std::ceil(fastest / mark) - 1) * mark);
    }
  }

  std::string draw() && {
    std::string name = evaluator_.scenario().name;
    if (name.size() > kLongestName) {
      name.resize(kLongestName);
      name += " ...";
    }
    svg_.add(R"(<text x="{}" y="24" font-size="13" font-weight="bold">{}</text>)", kPanel.left,
             svg_escaped(name));
    draw_axes();
    std::map<int, std::size_t> dots;  // by number of GPUs
    for (const FoundPlan& plan : result_.estimated) {
      if (++dots[plan.candidate.gpus] <= kMostDots) {
        dot(plan);
      }
    }
    for (const FoundPlan& plan : result_.plans) {
      mark(plan);
    }
    for (const FoundPlan& plan : result_.front) {
      if (is_inside(plan)) {
        svg_.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="7" fill="none" stroke="#000000"/>)", x_of(plan),
                 y_of(plan));
      }
    }
    draw_own();
    const double end = draw_words();
    return svg_.document(kPanel.right() + 40, end + 30, 12);
  }

 private:
  [[nodiscard]] double x_of(const FoundPlan& plan) const { return x_of(plan.figures().step); }
  [[nodiscard]] double x_of(double step) const { return kPanel.across({first_, step_}).at(step); }
  [[nodiscard]] double y_of(const FoundPlan& plan) const { return y_of(plan.figures().memory); }
  [[nodiscard]] double y_of(double memory) const { return kPanel.upwards({0, 1.05 * memory_}).at(memory); }
  [[nodiscard]] bool is_inside(const FoundPlan& plan) const {
    return plan.figures().step <= step_ && plan.figures().memory <= 1.05 * memory_;
  }
  [[nodiscard]] std::size_t series_of(const FoundPlan& plan) const {
    const auto& gpus = evaluator_.problem().gpus;
    return static_cast<std::size_t>(std::ranges::find(gpus, plan.candidate.gpus) - gpus.begin());
  }

  static std::string words(const FoundPlan& plan) {
    return fmt::format("{}: {}, {}, {} GPUs", in_words(plan.candidate),
                       to_string(Seconds{plan.figures().step}), to_string(Bytes{plan.figures().memory}),
                       plan.candidate.gpus);
  }

  void dot(const FoundPlan& plan) {
    if (is_inside(plan)) {
      svg_.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2" fill="#cccccc"><title>{}</title></circle>)",
               x_of(plan), y_of(plan), svg_escaped(words(plan)));
    }
  }

  void mark(const FoundPlan& plan) {
    if (is_inside(plan)) {
      svg_.add("{}", svg_mark(series_of(plan), {x_of(plan), y_of(plan)}, words(plan)));
    }
  }

  void draw_own() {
    if (!result_.own || !result_.own->fits() || result_.own->step > step_) {
      return;
    }
    const double x = x_of(result_.own->step);
    const double y = y_of(result_.own->normalised_memory);
    svg_.add(R"(<path d="M{:.1f} {:.1f} l12 12 m0 -12 l-12 12" stroke="#000000" stroke-width="2"/>)", x - 6,
             y - 6);
  }

  void draw_axes() {
    draw_axis(svg_, kPanel, ChartSide::Bottom, kPanel.across({first_, step_}), round_ticks({first_, step_}));
    const ChartScale::Range gigabytes{0, 1.05 * memory_ / 1e9};
    draw_axis(svg_, kPanel, ChartSide::Left, kPanel.upwards(gigabytes), round_ticks(gigabytes));
    const double capacity = evaluator_.capacity().in_base_units();
    if (std::isfinite(capacity)) {
      svg_.add(R"(<path d="M{} {:.1f} H{}" stroke="#aa0000" stroke-dasharray="5 4"/>)", kPanel.left,
               y_of(capacity), kPanel.right());
    }
    draw_axis_name(svg_, kPanel, ChartSide::Bottom, "step time, s");
    draw_axis_name(svg_, kPanel, ChartSide::Left, "GPU memory, peak, GB (dashed: what there is)");
  }

  /// The legend, and what else is drawn. @return where it ends
  double draw_words() {
    std::vector<std::string> names;
    for (const int gpus : evaluator_.problem().gpus) {
      names.push_back(fmt::format("{} GPUs, simulated", gpus));
    }
    double y =
        draw_legend(svg_, {kPanel.left, kPanel.bottom() + 60, kPanel.width, 0}, LegendMark::Point, names);
    const double x = kPanel.left + SvgLegend::kText;
    svg_.add(R"(<text x="{}" y="{}">circles: the Pareto front; cross: the scenario's own plan</text>)", x, y);
    y += 20;
    svg_.add(R"(<text x="{}" y="{}">grey: estimated (of each number of GPUs the {} fastest)</text>)", x, y,
             kMostDots);
    return y;
  }

  const PlanEvaluator& evaluator_;
  const PlanSearchResult& result_;
  double first_ = 0, step_ = 0, memory_ = 0;  // of the axes
  SvgDrawing svg_;
};

}  // namespace

std::string plans_svg(const PlanEvaluator& evaluator, const PlanSearchResult& result) {
  return ParetoPicture{evaluator, result}.draw();
}

}  // namespace lockstep
