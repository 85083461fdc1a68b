#include "calibration/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace {

std::vector<std::string> columns_of(const ValidationSet& set) {
  std::vector<std::string> columns;
  const auto add = [&](const std::string& column) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
      columns.push_back(column);
    }
  };
  std::for_each(set.family.begin(), set.family.end(), add);
  std::for_each(set.groups.begin(), set.groups.end(), add);
  if (set.picks) {
    std::for_each(set.picks->within.begin(), set.picks->within.end(), add);
  }
  for (const auto& [column, cells] : set.rows) {
    add(column);
  }
  for (const auto& [column, keys] : set.copied) {
    add(column);
  }
  for (const auto& [key, factors] : set.multiplied) {
    std::for_each(factors.begin(), factors.end(), add);
  }
  return columns;
}

/// The rows that ValidationSet::where asks for.
std::vector<std::size_t> rows_of(const ValidationSet& set, const CsvTable& table) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool belongs = std::all_of(set.where.begin(), set.where.end(), [&](const auto& condition) {
      const auto& [column, cells] = condition;
      return std::find(cells.begin(), cells.end(), table.cell(row, column)) != cells.end();
    });
    if (belongs) {
      rows.push_back(row);
    }
  }
  return rows;
}

/// @throws InputError
double positive(const CsvTable& table, std::size_t row, const std::string& column) {
  const double count = table.number(row, column);
  if (!(count > 0)) {
    table.complain(row, fmt::format("{}: what was measured must be greater than 0", column));
  }
  return count;
}

/// The measured step time, in units of the set.
double measured_step(const ValidationSet& set, const CsvTable& table, std::size_t row,
                     const ScenarioSettings& settings) {
  if (set.measured.step) {
    return positive(table, row, *set.measured.step);
  }
  const auto batch = settings.find("workload.global_batch");
  if (batch == settings.end()) {
    table.complain(row, fmt::format("set '{}' measures samples_per_second, but does not say this row's "
                                    "workload.global_batch",
                                    set.name));
  }
  return std::stod(batch->second) / positive(table, row, *set.measured.samples_per_second) /
         set.unit.in_base_units();
}

std::optional<double> error_in(const CsvTable& table, std::size_t row,
                               const std::optional<std::string>& column) {
  return column ? std::optional{table.number(row, *column) / 100} : std::nullopt;
}

/// The signed error of a step time that the set lists, if it lists this row.
std::optional<double> error_published(const CsvTable& table, std::size_t row, const PublishedTimes& times,
                                      double measured_count) {
  const auto first = times.step.find(table.cell(row, times.by[0]));
  const std::string& cell = table.cell(row, times.by[1]);
  if (first == times.step.end() || !first->second.contains(cell)) {
    return std::nullopt;
  }
  return first->second.at(cell) / measured_count - 1;
}

}  // namespace

ScenarioSettings settings_of(const ValidationSet& set, const CsvTable& table, std::size_t row) {
  ScenarioSettings settings = set.scenario;
  for (const auto& [column, cells] : set.rows) {
    const std::string& cell = table.cell(row, column);
    const auto found = cells.find(cell);
    if (found == cells.end()) {
      table.complain(row, fmt::format("{}: set '{}' says nothing of '{}'", column, set.name, cell));
    }
    for (const auto& [key, value] : found->second) {
      settings[key] = value;
    }
  }
  for (const auto& [column, keys] : set.copied) {
    std::istringstream words{keys};
    for (std::string key; words >> key;) {
      settings[key] = table.cell(row, column);
    }
  }
  for (const auto& [key, factors] : set.multiplied) {
    double product = 1;
    for (const std::string& column : factors) {
      product *= table.number(row, column);
    }
    settings[key] = fmt::format("{}", product);
  }
  return settings;
}

namespace {

/// What the table says of a row; the prediction is still to come.
ValidationPoint measured_point(const ValidationSet& set, const CsvTable& table, std::size_t row,
                               const std::vector<std::string>& columns, const ScenarioSettings& settings) {
  ValidationPoint point;
  for (const std::string& column : columns) {
    point.labels.push_back(table.cell(row, column));
  }
  const double step = measured_step(set, table, row, settings);
  point.step.measured = step * set.unit;
  if (set.measured.gpu_busy) {
    point.gpu_busy.emplace().measured = positive(table, row, *set.measured.gpu_busy) * set.unit;
  }
  for (const OtherPredictor& other : set.others) {
    point.step.others.push_back(other.published ? error_published(table, row, *other.published, step)
                                                : error_in(table, row, other.step_error));
    if (point.gpu_busy) {
      point.gpu_busy->others.push_back(error_in(table, row, other.gpu_busy_error));
    }
  }
  return point;
}

}  // namespace

Validation validate(const ValidationSet& set, const std::filesystem::path& data, const PredictRows& predict,
                    std::size_t every) {
  const CsvTable table = CsvTable::from_file(data / set.table);
  Validation validation;
  validation.set = set;
  validation.columns = columns_of(set);
  validation.every = every;
  const std::vector<std::size_t> rows = rows_of(set, table);
  validation.left_out = table.rows() - rows.size();
  if (rows.empty()) {
    throw InputError{{(data / set.table).string()},
                     fmt::format("no row has the cells that set '{}' asks for (where)", set.name)};
  }
  std::vector<ScenarioSettings> settings;
  for (std::size_t i = 0; i < rows.size(); i += every) {
    settings.push_back(settings_of(set, table, rows[i]));
    validation.points.push_back(measured_point(set, table, rows[i], validation.columns, settings.back()));
  }
  const std::vector<PredictedTimes> times = predict(settings);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    validation.points[i].step.predicted = times.at(i).step;
    validation.points[i].step.band = times[i].band;
    if (auto& gpu_busy = validation.points[i].gpu_busy) {
      gpu_busy->predicted = times[i].gpu_busy + times[i].kernels * set.measured.profiler_adds;
    }
  }
  return validation;
}

}  // namespace lockstep
