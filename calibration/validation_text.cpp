#include "calibration/validation_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/plan_picks.hpp"
#include "calibration/validation_figures.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

constexpr std::size_t kFewPoints = 40;
constexpr std::size_t kWorstPoints = 10;

bool predicts(const OtherPredictor& other, ComparedQuantity quantity) {
  return quantity == ComparedQuantity::GpuBusy ? other.gpu_busy_error.has_value() : other.predicts_steps();
}

std::string labels_text(const std::vector<std::string>& labels, const std::vector<std::size_t>& widths) {
  std::string text = " ";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    text += fmt::format(" {:<{}}", labels[i], widths[i]);
  }
  return text;
}

std::vector<std::size_t> label_widths(const Validation& validation, const std::vector<std::size_t>& points) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < validation.columns.size(); ++column) {
    widths.push_back(validation.columns[column].size());
    for (const std::size_t point : points) {
      widths.back() = std::max(widths.back(), validation.points[point].labels[column].size());
    }
  }
  return widths;
}

/// Steps are told in milliseconds, kernels and collectives in microseconds.
Seconds unit_of(ComparedQuantity quantity) {
  return quantity == ComparedQuantity::Step || quantity == ComparedQuantity::GpuBusy ? 1_ms : 1_us;
}

std::string point_text(const ComparedTime& time, Seconds unit) {
  std::string text = fmt::format("  {:8.2f}  {:8.2f} {:+5.1f} %", time.measured / unit, time.predicted / unit,
                                 100 * time.error());
  for (const auto& error : time.others) {
    if (error) {
      text += fmt::format("  {:8.2f} {:+5.1f} %", time.measured * (1 + *error) / unit, 100 * *error);
    }
  }
  return text;
}

std::string points_text(const Validation& validation, ComparedQuantity quantity,
                        const std::vector<std::size_t>& points) {
  const std::vector<std::size_t> widths = label_widths(validation, points);
  std::string text = fmt::format("{}, {}", in_words(quantity), unit_of(quantity) == 1_ms ? "ms" : "us");
  if (points.size() < validation.points.size()) {
    text += fmt::format(": the {} largest errors of {} (--points prints every one)", points.size(),
                        in_words(duration_of(validation.set.predicts)));
  }
  text += '\n' + labels_text(validation.columns, widths) + "  measured  lockstep   error";
  for (const OtherPredictor& other : validation.set.others) {
    if (predicts(other, quantity)) {
      text += fmt::format("  {:>8}   error", other.name);
    }
  }
  text += '\n';
  for (const std::size_t point : points) {
    text += labels_text(validation.points[point].labels, widths) +
            point_text(*compared(validation.points[point], quantity), unit_of(quantity)) + '\n';
  }
  return text;
}

/// Behind the figures of our own predictions where they have bands.
std::string inside_text(const ErrorLine& line) {
  return line.inside ? fmt::format("    {:5.1f}", 100 * *line.inside) : std::string{};
}

std::string figures(const ErrorSummary& errors) {
  return fmt::format("  {:5.1f}   {:5.1f}  {:5.1f}   {:5.1f}    {:5.1f}  {:+5.1f}",
                     100 * errors.geometric_mean, 100 * errors.median, 100 * errors.mean,
                     100 * errors.ninetieth, 100 * errors.largest, 100 * errors.bias);
}

std::string errors_text(const Validation& validation, ComparedQuantity quantity) {
  const std::vector<ErrorLine> lines = error_lines(validation, quantity);
  const auto name = [](const ErrorLine& line) {
    return line.column.empty() ? std::string{"all"} : line.column + " " + line.cell;
  };
  std::size_t width = 0;
  for (const ErrorLine& line : lines) {
    width = std::max(width, name(line).size());
  }
  const bool alone = validation.set.others.empty();
  std::string text = fmt::format(
      "errors of {}, %\n  {:<{}}  points{}  geometric  median  mean  90th %  largest  bias{}\n",
      in_words(quantity), "", width, alone ? "" : "  predicted by", lines.back().inside ? "  in band" : "");
  for (const ErrorLine& line : lines) {
    const auto row = [&](const std::string& whose, const ErrorSummary& errors) {
      text += fmt::format("  {:<{}}  {:6}{}    {}{}\n", whose == "lockstep" ? name(line) : "", width,
                          errors.count, alone ? "" : fmt::format("  {:<12}", whose), figures(errors),
                          whose == "lockstep" ? inside_text(line) : "");
    };
    row("lockstep", line.ours);
    for (std::size_t i = 0; i < line.others.size(); ++i) {
      if (line.others[i].count > 0) {
        row(validation.set.others[i].name, line.others[i]);
      }
    }
  }
  return text;
}

std::string order_text(const Validation& validation) {
  const StepOrder order = step_order(validation);
  if (!order.overall || validation.set.predicts != PredictedThing::Step) {
    return "";
  }
  std::string text = fmt::format("order of step times, Spearman's rank correlation: {:.3f} over all points\n",
                                 *order.overall);
  if (order.families > 0) {
    const auto join = [](const std::vector<std::string>& words) {
      return fmt::format("{}", fmt::join(words, ", "));
    };
    text += fmt::format(
        "  by family (same {}; {} of them): median {:.3f}, lowest {:.3f} ({})\n"
        "  taking what is predicted fastest in a family costs {:.1f} % over its fastest, at most {:.1f} %\n",
        join(validation.set.family), order.families, order.median, order.lowest, join(order.lowest_family),
        100 * order.mean_regret, 100 * order.largest_regret);
  }
  return text + '\n';
}

/// How many rows are refused for what, and where they are; "" where none is.
std::string refused_text(const Validation& validation) {
  if (validation.refused.empty()) {
    return "";
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // in the order of the first row
  for (const RefusedRow& row : validation.refused) {
    const std::string why = row.why.substr(0, row.why.find('\n'));
    auto known = std::ranges::find(reasons, why, &decltype(reasons)::value_type::first);
    if (known == reasons.end()) {
      known = reasons.insert(known, {why, {}});
    }
    known->second.push_back(
        fmt::format("{}:{}", std::filesystem::path{row.at.file}.filename().string(), row.at.line));
  }
  std::string text =
      fmt::format("{} of {} rows are refused, and not in what follows\n", validation.refused.size(),
                  validation.refused.size() + validation.points.size());
  for (const auto& [why, rows] : reasons) {
    text += fmt::format("  {:>4}  {}\n        {}\n", rows.size(), why, fmt::join(rows, ", "));
  }
  return text + '\n';
}

/// "" where all are inside, as they are of what is no kernel.
std::string range_text(const Validation& validation) {
  const std::size_t outside = points_out_of_range(validation);
  if (outside == 0) return "";
  return fmt::format("{} of {} points {} outside the ranges that their models were checked in\n\n", outside,
                     validation.points.size(), outside == 1 ? "is" : "are");
}

std::string title_text(const Validation& validation) {
  std::string text = fmt::format("{}: {} points", validation.set.title, validation.points.size());
  if (validation.every > 1) {
    text += fmt::format(", one of {} rows", validation.every);
  }
  if (validation.left_out > 0) {
    text += fmt::format("; {} rows of the table{} are not asked for ({})", validation.left_out,
                        validation.set.tables.empty() ? "" : "s",
                        validation.set.shortest > Seconds{0} ? "where, shortest" : "where");
  }
  return text + "\n\n";
}

/// No line ends in blanks.
std::string trimmed(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result.erase(result.find_last_not_of(' ') + 1);
    }
    result += c;
  }
  return result;
}

}  // namespace

namespace {

/// "" where no set has an aim.
std::string aims_text(std::span<const Validation> validations) {
  std::string text;
  for (const Validation& validation : validations) {
    for (const auto& [aim, reached] : reached_aims(validation)) {
      text += fmt::format("  {:<32} {:<10} {:<10} {:>6.1f} {:>7.1f}  {:<8} {}\n", validation.set.name,
                          name_of(aim.of), name_of(aim.figure), 100 * aim.below, 100 * reached,
                          reached < aim.below ? "reached" : "missed", aim.published);
    }
  }
  return text.empty() ? text
                      : fmt::format("aims, %\n  {:<32} {:<10} {:<10} {:>6} {:>7}  {:<8} {}\n{}", "set", "of",
                                    "figure", "below", "ours", "", "published", text);
}

}  // namespace

std::string doubts_about_unit(const Validation& validation) {
  constexpr double kFar = 50;
  std::vector<double> ratios;
  for (const ValidationPoint& point : validation.points) {
    ratios.push_back(point.step.measured / point.step.predicted);
  }
  if (ratios.empty()) return {};
  const double middle = quantile(ratios, 0.5);
  if (middle < kFar && middle > 1 / kFar) return {};
  return fmt::format(
      "{}: measured times are {:.2g} times the predicted ones in the median: is 'unit' ({}) that of the "
      "table?",
      validation.set.name, middle, to_string(validation.set.unit));
}

std::string validation_summary(std::span<const Validation> validations) {
  std::string text =
      fmt::format("  {:<32} {:<10} {:>6}  geometric  median  mean  90th %  largest  bias  in band  rank\n",
                  "set", "of", "points");
  for (const Validation& validation : validations) {
    for (const ComparedQuantity quantity : validation.set.quantities()) {
      const ErrorLine all = error_lines(validation, quantity).back();
      if (all.ours.count == 0) {
        continue;
      }
      const auto rank = quantity == ComparedQuantity::Step ? step_order(validation).overall : std::nullopt;
      text += fmt::format("  {:<32} {:<10} {:6}    {}  {:>7}  {}\n", validation.set.name, name_of(quantity),
                          all.ours.count, figures(all.ours),
                          all.inside ? fmt::format("{:.1f}", 100 * *all.inside) : "",
                          rank ? fmt::format("{:.3f}", *rank) : "");
    }
  }
  const std::string aims = aims_text(validations);
  return trimmed("errors of all sets, %\n" + text + (aims.empty() ? "" : "\n" + aims));
}

std::string validation_text(const Validation& validation, PrintedPoints printed) {
  std::vector<std::size_t> points(validation.points.size());
  std::iota(points.begin(), points.end(), std::size_t{0});
  if (printed == PrintedPoints::FewOrWorst && points.size() > kFewPoints) {
    points = worst_points(validation, kWorstPoints);
  }
  std::string text = title_text(validation) + refused_text(validation);
  for (const ComparedQuantity quantity : validation.set.quantities()) {
    text += points_text(validation, quantity, points) + '\n' + errors_text(validation, quantity) + '\n';
  }
  text += range_text(validation) + order_text(validation) + plan_picks_text(validation);
  if (const std::string aims = aims_text({&validation, 1}); !aims.empty()) {
    text += aims + '\n';
  }
  for (const OtherPredictor& other : validation.set.others) {
    text += fmt::format("{}: {}\n", other.name, other.meaning);
  }
  text += fmt::format("measured: {}\n", validation.set.source);
  for (const std::string& note : validation.set.notes) {
    text += fmt::format("note: {}\n", note);
  }
  return trimmed(text);
}

}  // namespace lockstep
