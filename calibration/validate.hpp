#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "calibration/band.hpp"
#include "calibration/csv_table.hpp"
#include "calibration/validation_set.hpp"

namespace lockstep {

/// One duration of a row: what was measured and how far predictions are off, relative and signed.
struct ComparedTime {
  Seconds measured;
  Seconds predicted;
  std::vector<std::optional<double>> others;  ///< by ValidationSet::others
  std::optional<Band> band;                   ///< around the prediction, where it has one

  [[nodiscard]] double error() const { return predicted / measured - 1; }
  /// Whether the measured time lies in the predicted band. std::nullopt: there is none
  [[nodiscard]] std::optional<bool> is_inside() const {
    return band ? std::optional{band->holds(measured / predicted - 1)} : std::nullopt;
  }
};

struct ValidationPoint {
  std::vector<std::string> labels;  ///< by Validation::columns
  ComparedTime step;
  std::optional<ComparedTime> gpu_busy;
  bool in_range = true;  ///< PredictedTimes::in_range
  double spread = 0;     ///< PredictedTimes::spread
};

/// A row that nothing can be predicted of, or that measures nothing.
struct RefusedRow {
  SourceLocation at;  ///< of the table
  std::string why;
};

struct Validation {
  ValidationSet set;
  /// Columns that the set names, each once: family, groups, rows, copied.
  std::vector<std::string> columns;
  std::vector<ValidationPoint> points;
  std::vector<RefusedRow> refused;  ///< rows that the set asks for and that are no points
  std::size_t left_out = 0;  ///< rows of the tables that ValidationSet::where and shortest do not ask for
  std::size_t every = 1;     ///< of the rows that it asks for, each so-manieth was compared
};

struct PredictedTimes {
  Seconds step;
  Seconds gpu_busy;            ///< at least one stream active, a step
  std::optional<Band> band{};  ///< around the step time
  double spread = 0;           ///< StepBand::relative of a step: what its band was calibrated from
  double kernels = 0;          ///< that a GPU runs in a step, copies and memory sets aside
  bool in_range = true;        ///< of kernels: false when outside what their models were checked in
  std::string refused{};       ///< why nothing is predicted of the row; empty: it is
};

/// Predicts the scenarios of rows, in their order.
using PredictRows = std::function<std::vector<PredictedTimes>(std::span<const ScenarioSettings> rows)>;

/// The keys that row @p row of @p table sets.
/// @param of_table those that all rows of the table set (ValidationSet::tables)
/// @throws InputError for a cell that the set says nothing of
[[nodiscard]] ScenarioSettings settings_of(const ValidationSet& set, const CsvTable& table, std::size_t row,
                                           const ScenarioSettings& of_table = {});

/// A measured row that waits for its prediction.
struct MeasuredRow {
  SourceLocation at;  ///< of the table
  ValidationPoint point;
};

/// A set whose tables are read and whose predictions are to come.
struct MeasuredSet {
  Validation validation;               ///< without points
  std::vector<ScenarioSettings> rows;  ///< what is to be predicted
  std::vector<MeasuredRow> measured;   ///< likewise in order
};

/// The rows of the set's tables. Those whose cells are not in order are refused.
/// @param data the folder that the set's `table` is relative to
/// @param every takes each so-manieth row only, beginning with the first
/// @throws InputError for a table that is not there or asks for nothing
[[nodiscard]] MeasuredSet measured_set(const ValidationSet& set, const std::filesystem::path& data,
                                       std::size_t every = 1);

/// The rows against their predictions, @p times in their order.
/// @throws InputError at the first row where all of them are refused
[[nodiscard]] Validation compared(MeasuredSet set, std::span<const PredictedTimes> times);

/// measured_set(), predicted and compared().
[[nodiscard]] Validation validate(const ValidationSet& set, const std::filesystem::path& data,
                                  const PredictRows& predict, std::size_t every = 1);

}  // namespace lockstep
