#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/csv_table.hpp"
#include "calibration/validation_set.hpp"

namespace lockstep {

/// One duration of a row: what was measured and how far predictions are off, relative and signed.
struct ComparedTime {
  Seconds measured;
  Seconds predicted;
  std::vector<std::optional<double>> others;  ///< by ValidationSet::others

  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct ValidationPoint {
  std::vector<std::string> labels;  ///< by Validation::columns
  ComparedTime step;
  std::optional<ComparedTime> gpu_busy;
};

struct Validation {
  ValidationSet set;
  std::vector<std::string> columns;  ///< those that choose a row's scenario: ValidationSet::rows, then copied
  std::vector<ValidationPoint> points;
};

struct PredictedTimes {
  Seconds step;
  Seconds gpu_busy;  ///< at least one stream active, a step
};

/// Predicts the scenario of a row.
using PredictRow = std::function<PredictedTimes(const ScenarioSettings& scenario)>;

/// The keys that row @p row of @p table sets.
/// @throws InputError for a cell that the set says nothing of
[[nodiscard]] ScenarioSettings settings_of(const ValidationSet& set, const CsvTable& table, std::size_t row);

/// Every row of the set's table against its prediction.
/// @param data the folder that the set's `table` is relative to
/// @throws InputError for a table that is not there or does not fit the set; what @p predict throws
[[nodiscard]] Validation validate(const ValidationSet& set, const std::filesystem::path& data,
                                  const PredictRow& predict);

}  // namespace lockstep
