#include "calibration/validation_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

using namespace lockstep::literals;

const ComparedTime* compared(const ValidationPoint& point, ComparedQuantity quantity) {
  if (quantity == ComparedQuantity::Step) {
    return &point.step;
  }
  return point.gpu_busy ? &*point.gpu_busy : nullptr;
}

/// The figures over points that @p belongs says yes to.
template <class Belongs>
ErrorLine line_over(const Validation& validation, ComparedQuantity quantity, const Belongs& belongs) {
  std::vector<double> ours;
  std::vector<std::vector<double>> others(validation.set.others.size());
  for (const ValidationPoint& point : validation.points) {
    const ComparedTime* const time = compared(point, quantity);
    if (time == nullptr || !belongs(point)) {
      continue;
    }
    ours.push_back(time->error());
    for (std::size_t other = 0; other < others.size(); ++other) {
      if (time->others[other]) {
        others[other].push_back(*time->others[other]);
      }
    }
  }
  ErrorLine line{"", "", summarise(ours), {}};
  for (const std::vector<double>& errors : others) {
    line.others.push_back(summarise(errors));
  }
  return line;
}

std::vector<std::string> cells_in_order(const Validation& validation, std::size_t column) {
  std::vector<std::string> cells;
  for (const ValidationPoint& point : validation.points) {
    if (std::find(cells.begin(), cells.end(), point.labels[column]) == cells.end()) {
      cells.push_back(point.labels[column]);
    }
  }
  return cells;
}

bool predicts(const OtherPredictor& other, ComparedQuantity quantity) {
  return (quantity == ComparedQuantity::Step ? other.step_error : other.gpu_busy_error).has_value();
}

std::string labels_text(const std::vector<std::string>& labels, const std::vector<std::size_t>& widths) {
  std::string text = " ";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    text += fmt::format(" {:<{}}", labels[i], widths[i]);
  }
  return text;
}

std::vector<std::size_t> label_widths(const Validation& validation) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < validation.columns.size(); ++column) {
    widths.push_back(validation.columns[column].size());
    for (const ValidationPoint& point : validation.points) {
      widths.back() = std::max(widths.back(), point.labels[column].size());
    }
  }
  return widths;
}

const char* what(ComparedQuantity quantity) {
  return quantity == ComparedQuantity::Step ? "step time" : "GPU busy time";
}

std::string points_text(const Validation& validation, ComparedQuantity quantity) {
  const std::vector<std::size_t> widths = label_widths(validation);
  std::string text = fmt::format("{}, ms\n{}  measured  lockstep   error", what(quantity),
                                 labels_text(validation.columns, widths));
  for (const OtherPredictor& other : validation.set.others) {
    if (predicts(other, quantity)) {
      text += fmt::format("  {:>8}   error", other.name);
    }
  }
  text += '\n';
  for (const ValidationPoint& point : validation.points) {
    const ComparedTime& time = *compared(point, quantity);
    text += fmt::format("{}  {:8.2f}  {:8.2f} {:+5.1f} %", labels_text(point.labels, widths),
                        time.measured / 1_ms, time.predicted / 1_ms, 100 * time.error());
    for (std::size_t i = 0; i < time.others.size(); ++i) {
      if (const auto& error = time.others[i]) {
        text += fmt::format("  {:8.2f} {:+5.1f} %", time.measured * (1 + *error) / 1_ms, 100 * *error);
      }
    }
    text += '\n';
  }
  return text;
}

std::string figures(const ErrorSummary& errors) {
  return fmt::format("  {:5.1f} {:5.1f} {:+6.1f} {:5.1f}", 100 * errors.geometric_mean, 100 * errors.mean,
                     100 * errors.bias, 100 * errors.largest);
}

std::string errors_text(const Validation& validation, ComparedQuantity quantity) {
  std::string text =
      fmt::format("errors of {}, %: geometric mean, mean, bias, largest\n  {:<20} points  {:<24}",
                  what(quantity), "", "lockstep");
  for (const OtherPredictor& other : validation.set.others) {
    if (predicts(other, quantity)) {
      text += fmt::format("  {:<24}", other.name);
    }
  }
  text += '\n';
  for (const ErrorLine& line : error_lines(validation, quantity)) {
    const std::string points = line.column.empty() ? "all" : line.column + " " + line.cell;
    text += fmt::format("  {:<20} {:6}{}", points, line.ours.count, figures(line.ours));
    for (const ErrorSummary& other : line.others) {
      if (other.count > 0) {
        text += figures(other);
      }
    }
    text += '\n';
  }
  return text;
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

std::vector<ErrorLine> error_lines(const Validation& validation, ComparedQuantity quantity) {
  std::vector<ErrorLine> lines;
  for (std::size_t column = 0; column < validation.set.rows.size(); ++column) {
    for (const std::string& cell : cells_in_order(validation, column)) {
      lines.push_back(line_over(validation, quantity,
                                [&](const ValidationPoint& point) { return point.labels[column] == cell; }));
      lines.back().column = validation.columns[column];
      lines.back().cell = cell;
    }
  }
  lines.push_back(line_over(validation, quantity, [](const ValidationPoint&) { return true; }));
  return lines;
}

std::string validation_text(const Validation& validation) {
  std::string text = fmt::format("{}: {} points\n\n", validation.set.title, validation.points.size());
  for (const ComparedQuantity quantity : {ComparedQuantity::GpuBusy, ComparedQuantity::Step}) {
    if (quantity == ComparedQuantity::Step || validation.set.measured.gpu_busy) {
      text += points_text(validation, quantity) + '\n' + errors_text(validation, quantity) + '\n';
    }
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
