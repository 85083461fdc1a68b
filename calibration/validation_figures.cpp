#include "calibration/validation_figures.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "calibration/rank_correlation.hpp"

namespace lockstep {
namespace {

/// The figures over points that @p belongs says yes to.
template <class Belongs>
ErrorLine line_over(const Validation& validation, ComparedQuantity quantity, const Belongs& belongs) {
  std::vector<double> ours;
  std::size_t banded = 0;
  std::size_t inside = 0;
  std::vector<std::vector<double>> others(validation.set.others.size());
  for (const ValidationPoint& point : validation.points) {
    const ComparedTime* const time = compared(point, quantity);
    if (time == nullptr || !belongs(point)) {
      continue;
    }
    ours.push_back(time->error());
    banded += time->band ? 1 : 0;
    inside += time->is_inside().value_or(false) ? 1 : 0;
    for (std::size_t other = 0; other < others.size(); ++other) {
      if (time->others[other]) {
        others[other].push_back(*time->others[other]);
      }
    }
  }
  ErrorLine line{"", "", summarise(ours), {}, std::nullopt};
  if (banded > 0) {
    line.inside = static_cast<double>(inside) / static_cast<double>(banded);
  }
  for (const std::vector<double>& errors : others) {
    line.others.push_back(summarise(errors));
  }
  return line;
}

std::optional<double> number_in(const std::string& cell) {
  double value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return failure == std::errc{} && end == cell.data() + cell.size() ? std::optional{value} : std::nullopt;
}

std::vector<std::string> cells_in_order(const Validation& validation, std::size_t column) {
  std::vector<std::string> cells;
  for (const ValidationPoint& point : validation.points) {
    if (std::find(cells.begin(), cells.end(), point.labels[column]) == cells.end()) {
      cells.push_back(point.labels[column]);
    }
  }
  if (std::all_of(cells.begin(), cells.end(), [](const auto& cell) { return number_in(cell).has_value(); })) {
    std::sort(cells.begin(), cells.end(),
              [](const auto& a, const auto& b) { return *number_in(a) < *number_in(b); });
  }
  return cells;
}

std::vector<std::string> group_columns(const ValidationSet& set) {
  std::vector<std::string> columns = set.groups;
  if (columns.empty()) {
    for (const auto& [column, cells] : set.rows) {
      columns.push_back(column);
    }
  }
  return columns;
}

double figure_of(const ErrorSummary& errors, AimedFigure figure) {
  switch (figure) {
    case AimedFigure::Geometric:
      return errors.geometric_mean;
    case AimedFigure::Median:
      return errors.median;
    case AimedFigure::Mean:
      return errors.mean;
    case AimedFigure::Ninetieth:
      return errors.ninetieth;
  }
  throw std::logic_error{"figure_of: unknown AimedFigure"};
}

/// The sizes that are told apart where points are grouped by `bytes`: launches, latency, both, bandwidth.
struct SizeRange {
  const char* name;
  double from, below;
};
constexpr std::array kSizeRanges{
    SizeRange{"below 64 KiB", 0, 65536}, SizeRange{"64 KiB to 1 MiB", 65536, 1048576},
    SizeRange{"1 to 16 MiB", 1048576, 16777216}, SizeRange{"16 to 256 MiB", 16777216, 268435456},
    SizeRange{"from 256 MiB", 268435456, std::numeric_limits<double>::infinity()}};

std::size_t place_of(const Validation& validation, const std::string& column) {
  return static_cast<std::size_t>(std::find(validation.columns.begin(), validation.columns.end(), column) -
                                  validation.columns.begin());
}

struct StepTimes {
  std::vector<double> predicted, measured;

  void add(const ComparedTime& time) {
    predicted.push_back(time.predicted.in_base_units());
    measured.push_back(time.measured.in_base_units());
  }

  [[nodiscard]] double regret() const {
    const auto chosen = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
    return measured[static_cast<std::size_t>(chosen)] / *std::min_element(measured.begin(), measured.end()) -
           1;
  }
};

/// Step times by the cells that tell a family.
std::map<std::vector<std::string>, StepTimes> families_of(const Validation& validation) {
  std::map<std::vector<std::string>, StepTimes> families;
  for (const ValidationPoint& point : validation.points) {
    std::vector<std::string> cells;
    for (const std::string& column : validation.set.family) {
      cells.push_back(point.labels[place_of(validation, column)]);
    }
    families[cells].add(point.step);
  }
  return families;
}

}  // namespace

const ComparedTime* compared(const ValidationPoint& point, ComparedQuantity quantity) {
  if (quantity != ComparedQuantity::GpuBusy) {
    return &point.step;
  }
  return point.gpu_busy ? &*point.gpu_busy : nullptr;
}

const char* in_words(ComparedQuantity quantity) {
  switch (quantity) {
    case ComparedQuantity::Step:
      return "step time";
    case ComparedQuantity::GpuBusy:
      return "GPU busy time";
    case ComparedQuantity::Kernel:
      return "kernel time";
    case ComparedQuantity::Collective:
      return "collective time";
  }
  return "";
}

namespace {

void append_size_ranges(const Validation& validation, std::size_t column, std::vector<ErrorLine>& lines) {
  for (const SizeRange& range : kSizeRanges) {
    ErrorLine line = line_over(validation, ComparedQuantity::Collective, [&](const ValidationPoint& point) {
      const double size = number_in(point.labels[column]).value_or(0);
      return size >= range.from && size < range.below;
    });
    if (line.ours.count > 0) {
      line.column = "bytes";
      line.cell = range.name;
      lines.push_back(std::move(line));
    }
  }
}

}  // namespace

std::vector<ErrorLine> error_lines(const Validation& validation, ComparedQuantity quantity) {
  std::vector<ErrorLine> lines;
  for (const std::string& name : group_columns(validation.set)) {
    const std::size_t column = place_of(validation, name);
    if (name == "bytes" && validation.set.predicts == PredictedThing::Collective) {
      append_size_ranges(validation, column, lines);
      continue;
    }
    for (const std::string& cell : cells_in_order(validation, column)) {
      lines.push_back(line_over(validation, quantity,
                                [&](const ValidationPoint& point) { return point.labels[column] == cell; }));
      lines.back().column = name;
      lines.back().cell = cell;
    }
  }
  lines.push_back(line_over(validation, quantity, [](const ValidationPoint&) { return true; }));
  return lines;
}

std::vector<ValidationAim> aims_of(const ValidationSet& set) {
  constexpr double kUsual = 0.10;
  if (!set.aims.empty()) return set.aims;
  return {{.of = duration_of(set.predicts), .figure = AimedFigure::Mean, .below = kUsual, .published = {}}};
}

std::vector<ReachedAim> reached_aims(const Validation& validation) {
  std::vector<ReachedAim> reached;
  for (const ValidationAim& aim : aims_of(validation.set)) {
    const ErrorSummary errors = error_lines(validation, aim.of).back().ours;
    if (errors.count > 0) {
      reached.push_back({aim, figure_of(errors, aim.figure)});
    }
  }
  return reached;
}

std::size_t points_out_of_range(const Validation& validation) {
  return static_cast<std::size_t>(std::ranges::count(validation.points, false, &ValidationPoint::in_range));
}

std::vector<std::size_t> worst_points(const Validation& validation, std::size_t count) {
  std::vector<std::size_t> points(validation.points.size());
  std::iota(points.begin(), points.end(), std::size_t{0});
  std::stable_sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(validation.points[a].step.error()) > std::abs(validation.points[b].step.error());
  });
  points.resize(std::min(count, points.size()));
  return points;
}

StepOrder step_order(const Validation& validation) {
  constexpr std::size_t kLeastPoints = 3;
  StepOrder order;
  StepTimes all;
  for (const ValidationPoint& point : validation.points) {
    all.add(point.step);
  }
  order.overall = rank_correlation(all.predicted, all.measured);
  if (validation.set.family.empty()) {
    return order;
  }
  std::vector<double> correlations, regrets;
  for (const auto& [cells, times] : families_of(validation)) {
    const auto correlation = rank_correlation(times.predicted, times.measured);
    if (times.measured.size() < kLeastPoints || !correlation) {
      continue;
    }
    if (correlations.empty() || *correlation < order.lowest) {
      order.lowest = *correlation;
      order.lowest_family = cells;
    }
    correlations.push_back(*correlation);
    regrets.push_back(times.regret());
  }
  order.families = correlations.size();
  if (!correlations.empty()) {
    order.median = quantile(correlations, 0.5);
    order.mean_regret =
        std::accumulate(regrets.begin(), regrets.end(), 0.0) / static_cast<double>(regrets.size());
    order.largest_regret = *std::max_element(regrets.begin(), regrets.end());
  }
  return order;
}

}  // namespace lockstep
