#include <fmt/format.h>

#include <algorithm>

#include "app/sweep/sweep_table.hpp"
#include "base/units.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kScreen = 30;  ///< points that are shown all; of more the best kFew
constexpr std::size_t kFew = 20;
constexpr std::size_t kLabelWidth = 30;
constexpr std::size_t kMessageWidth = 90;

std::string shortened(const std::string& text, std::size_t width) {
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= width ? line : line.substr(0, width - 2) + "..";
}

/// `communication-bound` of the whole sentence.
std::string verdict(const std::string& sentence) {
  return sentence.substr(0, sentence.find(':'));
}

/// A message without the `file:line:column: ` that it may begin with.
std::string without_place(const std::string& message) {
  const auto end = message.find(": ");
  const bool is_place = end != std::string::npos && message.find(' ') > end && message.find(':') < end;
  return is_place ? message.substr(end + 2) : message;
}

struct Column {
  std::string head;
  bool is_right = true;
  std::vector<std::string> cells;  ///< by shown row

  [[nodiscard]] std::size_t width() const {
    std::size_t width = head.size();
    for (const std::string& cell : cells) {
      width = std::max(width, cell.size());
    }
    return width;
  }
  [[nodiscard]] std::string line(const std::string& text) const {
    return is_right ? fmt::format("  {:>{}}", text, width()) : fmt::format("  {:<{}}", text, width());
  }
};

class TextTable {
 public:
  TextTable(const SweepTable& table, std::vector<std::size_t> shown)
      : table_{table}, shown_{std::move(shown)} {
    add_labels();
    add("step time",
        [](const SweepRow& row) { return row.step_time ? to_string(Seconds{*row.step_time}) : ""; });
    if (any(&SweepRow::tokens_per_s)) {
      add("tokens/s", [](const SweepRow& row) { return figure(row.tokens_per_s); });
    } else {
      add("samples/s", [](const SweepRow& row) { return figure(row.samples_per_s); });
    }
    if (any(&SweepRow::mfu)) {
      add("MFU", [](const SweepRow& row) { return row.mfu ? fmt::format("{:.1f} %", 100 * *row.mfu) : ""; });
    }
    if (any(&SweepRow::memory_peak)) {
      add("memory",
          [](const SweepRow& row) { return row.memory_peak ? to_string(Bytes{*row.memory_peak}) : ""; });
    }
    if (any(&SweepRow::cost)) {
      const bool of_tokens = std::ranges::any_of(table.rows, &SweepRow::cost_is_of_tokens);
      add(of_tokens ? "cost/M tokens" : "cost/M samples",
          [](const SweepRow& row) { return figure(row.cost); });
    }
  }

  [[nodiscard]] std::string text() const {
    const auto best = best_row(table_);
    std::string text = "  ";
    for (const Column& column : columns_) {
      text += column.line(column.head);
    }
    text += "  bottleneck\n";
    for (std::size_t line = 0; line < shown_.size(); ++line) {
      const SweepRow& row = table_.rows[shown_[line]];
      std::string cells = best == shown_[line] ? " *" : "  ";
      const std::size_t filled = row.is_done() ? columns_.size() : table_.columns.size();
      for (std::size_t i = 0; i < filled; ++i) {
        cells += columns_[i].line(columns_[i].cells[line]);
      }
      text += cells +
              (row.is_done() ? "  " + verdict(row.bottleneck)
                             : fmt::format("  failed ({}): {}", row.outcome.exit_code,
                                           shortened(without_place(row.outcome.message), kMessageWidth))) +
              "\n";
    }
    return text;
  }

 private:
  /// Four digits, without an exponent where a prefix does.
  static std::string figure(const std::optional<double>& value) {
    if (!value) {
      return "";
    }
    return *value >= 1e10  ? fmt::format("{:.4g} G", *value * 1e-9)
           : *value >= 1e7 ? fmt::format("{:.4g} M", *value * 1e-6)
           : *value >= 1e4 ? fmt::format("{:.4g} k", *value * 1e-3)
                           : fmt::format("{:.4g}", *value);
  }

  [[nodiscard]] bool any(std::optional<double> SweepRow::*value) const {
    return std::ranges::any_of(table_.rows, [&](const SweepRow& row) { return (row.*value).has_value(); });
  }

  template <class Cell>
  void add(const std::string& head, Cell cell) {
    Column column{head, true, {}};
    for (const std::size_t number : shown_) {
      column.cells.push_back(cell(table_.rows[number]));
    }
    columns_.push_back(std::move(column));
  }

  void add_labels() {
    const std::vector<std::string> names = short_names(table_.columns);
    for (std::size_t i = 0; i < names.size(); ++i) {
      add(names[i], [i](const SweepRow& row) { return shortened(row.labels[i], kLabelWidth); });
      columns_.back().is_right = false;
    }
  }

  const SweepTable& table_;
  std::vector<std::size_t> shown_;
  std::vector<Column> columns_;
};

std::string best_line(const SweepTable& table) {
  const auto best = best_row(table);
  if (!best) {
    return "no point could be simulated\n";
  }
  const SweepRow& row = table.rows[*best];
  const std::vector<std::string> names = short_names(table.columns);
  std::string point;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!row.labels[i].empty()) {
      point += fmt::format("{}{} {}", point.empty() ? "" : ", ", names[i],
                           shortened(row.labels[i], kMessageWidth));
    }
  }
  const char* unit = row.tokens_per_s ? "tokens" : "samples";
  const std::size_t ties = ties_of_best(table);
  const std::string tie = ties > 0 ? fmt::format("; a tie with {} more, within its band", ties) : "";
  return is_judged_by_cost(table) ? fmt::format("best (*), the cheapest {}: {}{}\n", unit, point, tie)
                                  : fmt::format("best (*), the most {}/s: {}{}\n", unit, point, tie);
}

}  // namespace

std::string sweep_text(const SweepTable& table) {
  const auto failed = std::ranges::count_if(table.rows, [](const SweepRow& row) { return !row.is_done(); });
  std::string text =
      fmt::format("{}\n  {} point{}{}\n\n", table.name, table.rows.size(), table.rows.size() == 1 ? "" : "s",
                  failed > 0 ? fmt::format(", {} failed", failed) : "");
  std::vector<std::size_t> shown = best_first(table);
  if (table.rows.size() <= kScreen) {
    std::ranges::sort(shown);
  } else {
    shown.resize(kFew);
  }
  text += TextTable{table, shown}.text();
  if (shown.size() < table.rows.size()) {
    text += fmt::format("    the {} best of {}; sweep.csv has all\n", shown.size(), table.rows.size());
  }
  return text + "\n" + best_line(table);
}

}  // namespace lockstep
