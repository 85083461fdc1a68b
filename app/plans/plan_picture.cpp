#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "app/plans/plan_text.hpp"
#include "app/sweep/plot.hpp"
#include "base/svg.hpp"

namespace lockstep {
namespace {

constexpr double kLeft = 80, kTop = 50, kWidth = 620, kHeight = 360;
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
    svg_.add(R"(<text x="{}" y="24" font-size="13" font-weight="bold">{}</text>)", kLeft, svg_escaped(name));
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
    draw_legend();
    return svg_.document(kLeft + kWidth + 40,
                         kTop + kHeight + 90 + 20 * static_cast<double>(evaluator_.problem().gpus.size()),
                         12);
  }

 private:
  [[nodiscard]] double x_of(const FoundPlan& plan) const { return x_of(plan.figures().step); }
  [[nodiscard]] double x_of(double step) const { return kLeft + kWidth * (step - first_) / (step_ - first_); }
  [[nodiscard]] double y_of(const FoundPlan& plan) const {
    return kTop + kHeight * (1 - plan.figures().memory / (1.05 * memory_));
  }
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
    const double y = kTop + kHeight * (1 - result_.own->normalised_memory / (1.05 * memory_));
    svg_.add(R"(<path d="M{:.1f} {:.1f} l12 12 m0 -12 l-12 12" stroke="#000000" stroke-width="2"/>)", x - 6,
             y - 6);
  }

  void draw_axes() {
    const double seconds = axis_step(step_ - first_), giga = axis_step(memory_ / 1e9);
    for (double value = seconds * std::ceil(first_ / seconds); value <= step_; value += seconds) {
      const double x = x_of(value);
      svg_.add(R"(<path d="M{:.1f} {} V{}" stroke="#eeeeee"/>)", x, kTop, kTop + kHeight);
      svg_.add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{:.6g}</text>)", x, kTop + kHeight + 18,
               value);
    }
    for (double value = 0; value * 1e9 <= 1.05 * memory_; value += giga) {
      const double y = kTop + kHeight * (1 - value * 1e9 / (1.05 * memory_));
      svg_.add(R"(<path d="M{} {:.1f} H{}" stroke="#eeeeee"/>)", kLeft, y, kLeft + kWidth);
      svg_.add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{:.6g}</text>)", kLeft - 8, y + 4, value);
    }
    const double capacity = evaluator_.capacity().in_base_units();
    if (std::isfinite(capacity)) {
      const double y = kTop + kHeight * (1 - capacity / (1.05 * memory_));
      svg_.add(R"(<path d="M{} {:.1f} H{}" stroke="#aa0000" stroke-dasharray="5 4"/>)", kLeft, y,
               kLeft + kWidth);
    }
    svg_.add(R"(<text x="{}" y="{}" text-anchor="end" fill="#444444">step time, s</text>)", kLeft + kWidth,
             kTop + kHeight + 38);
    svg_.add(R"(<text x="{}" y="{}" fill="#444444">GPU memory, peak, GB (dashed: what there is)</text>)",
             kLeft, kTop - 8);
  }

  void draw_legend() {
    double y = kTop + kHeight + 40;
    const auto& gpus = evaluator_.problem().gpus;
    for (std::size_t i = 0; i < gpus.size(); ++i, y += 20) {
      svg_.add("{}", svg_mark(i, {kLeft + 6, y - 4}));
      svg_.add(R"(<text x="{}" y="{}">{} GPUs, simulated</text>)", kLeft + 20, y, gpus[i]);
    }
    svg_.add(R"(<text x="{}" y="{}">circles: the Pareto front; cross: the scenario's own plan</text>)",
             kLeft + 20, y);
    svg_.add(R"(<text x="{}" y="{}">grey: estimated (of each number of GPUs the {} fastest)</text>)",
             kLeft + 20, y + 20, kMostDots);
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
