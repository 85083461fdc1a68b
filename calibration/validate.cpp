#include "calibration/validate.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "base/suggest.hpp"

namespace lockstep {
namespace {

std::vector<std::string> columns_of(const ValidationSet& set) {
  std::vector<std::string> columns;
  for (const auto& [column, cells] : set.rows) {
    columns.push_back(column);
  }
  for (const auto& [column, key] : set.copied) {
    columns.push_back(column);
  }
  return columns;
}

Seconds measured(const CsvTable& table, std::size_t row, const std::string& column, Seconds unit) {
  const double count = table.number(row, column);
  if (!(count > 0)) {
    table.complain(row, fmt::format("{}: a measured duration must be greater than 0", column));
  }
  return count * unit;
}

std::optional<double> error_in(const CsvTable& table, std::size_t row,
                               const std::optional<std::string>& column) {
  return column ? std::optional{table.number(row, *column) / 100} : std::nullopt;
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
  for (const auto& [column, key] : set.copied) {
    settings[key] = table.cell(row, column);
  }
  return settings;
}

Validation validate(const ValidationSet& set, const std::filesystem::path& data, const PredictRow& predict) {
  const CsvTable table = CsvTable::from_file(data / set.table);
  Validation validation{set, columns_of(set), {}};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    ValidationPoint point;
    for (const std::string& column : validation.columns) {
      point.labels.push_back(table.cell(row, column));
    }
    const PredictedTimes times = predict(settings_of(set, table, row));
    point.step = {measured(table, row, set.measured.step, set.unit), times.step, {}};
    if (set.measured.gpu_busy) {
      point.gpu_busy = {measured(table, row, *set.measured.gpu_busy, set.unit), times.gpu_busy, {}};
    }
    for (const OtherPredictor& other : set.others) {
      point.step.others.push_back(error_in(table, row, other.step_error));
      if (point.gpu_busy) {
        point.gpu_busy->others.push_back(error_in(table, row, other.gpu_busy_error));
      }
    }
    validation.points.push_back(std::move(point));
  }
  return validation;
}

}  // namespace lockstep
