#include "app/sweep/sweep_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "app/sweep/plot.hpp"

namespace lockstep {
namespace {

struct Figure {
  const char* file;
  const char* title;
  const char* unit;
  std::optional<double> SweepRow::*value;
  double scale;
};
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr Figure kFigures[]{{"step_time", "step time", "ms", &SweepRow::step_time, 1e3},
                            {"mfu", "MFU", "%", &SweepRow::mfu, 100},
                            {"cost", "cost of a million", "", &SweepRow::cost, 1},
                            {"memory", "GPU memory, peak", "GiB", &SweepRow::memory_peak, 1 / kGiB}};

std::size_t place_of(std::vector<std::string>& known, const std::string& text) {
  const auto found = std::ranges::find(known, text);
  if (found == known.end()) {
    known.push_back(text);
    return known.size() - 1;
  }
  return static_cast<std::size_t>(found - known.begin());
}

/// The number that a label begins with: `400 Gbps`, `4`.
std::optional<double> leading_number(const std::string& label) {
  double value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  return error == std::errc{} ? std::optional{value} : std::nullopt;
}

bool are_growing(const std::vector<std::string>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto value = leading_number(labels[i]);
    if (!value || (i > 0 && *value <= *leading_number(labels[i - 1]))) {
      return false;
    }
  }
  return labels.size() > 1;
}

/// The place where each row is drawn.
struct Arrangement {
  std::string x;
  std::vector<std::string> categories;
  std::vector<std::string> series;
  std::vector<std::size_t> category_of;
  std::vector<std::size_t> series_of;
};

std::size_t column_with_most_values(const SweepTable& table) {
  std::size_t widest = 0;
  std::size_t most = 0;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    std::vector<std::string> values;
    for (const SweepRow& row : table.rows) {
      place_of(values, row.labels[column]);
    }
    if (values.size() > most) {
      widest = column;
      most = values.size();
    }
  }
  return widest;
}

Arrangement arranged(const SweepTable& table) {
  const std::size_t x = column_with_most_values(table);
  const std::vector<std::string> names = short_names(table.columns);
  Arrangement of{names[x], {}, {}, {}, {}};
  for (const SweepRow& row : table.rows) {
    std::string others;
    for (std::size_t i = 0; i < row.labels.size(); ++i) {
      if (i != x && !row.labels[i].empty()) {
        others += fmt::format("{}{} {}", others.empty() ? "" : ", ", names[i], row.labels[i]);
      }
    }
    of.category_of.push_back(place_of(of.categories, row.labels[x]));
    of.series_of.push_back(place_of(of.series, others));
  }
  return of;
}

Plot plot_of(const SweepTable& table, const Arrangement& places, const Figure& figure) {
  Plot plot{figure.title, figure.unit, places.x, places.categories, {}, are_growing(places.categories)};
  for (const std::string& name : places.series) {
    plot.series.push_back({name, std::vector<std::optional<double>>(places.categories.size())});
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (const auto value = table.rows[i].*figure.value) {
      plot.series[places.series_of[i]].values[places.category_of[i]] = *value * figure.scale;
    }
  }
  return plot;
}

}  // namespace

std::vector<PlotFile> sweep_plots(const SweepTable& table) {
  const Arrangement places = arranged(table);
  std::vector<PlotFile> files;
  for (const Figure& figure : kFigures) {
    const auto has_it = [&](const SweepRow& row) { return (row.*figure.value).has_value(); };
    const auto known = std::ranges::find_if(table.rows, has_it);
    if (known == table.rows.end()) {
      continue;
    }
    Plot plot = plot_of(table, places, figure);
    if (figure.value == &SweepRow::cost) {
      plot.title += known->cost_is_of_tokens ? " tokens" : " samples";
    }
    files.push_back({std::string{figure.file} + ".svg", to_svg(plot)});
  }
  return files;
}

}  // namespace lockstep
