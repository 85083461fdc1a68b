#include "calibration/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

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

ScenarioSettings settings_of(const ValidationSet& set, const CsvTable& table, std::size_t row,
                             const ScenarioSettings& of_table) {
  ScenarioSettings settings = set.scenario;
  for (const auto& [key, value] : of_table) {
    settings[key] = value;
  }
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
    const std::string& cell = table.cell(row, column);
    if (cell.empty()) {
      continue;
    }
    std::istringstream words{keys};
    for (std::string key; words >> key;) {
      settings[key] = cell;
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

/// One file of a set, and the keys that all its rows set.
struct MeasuredTable {
  std::string name;  ///< the file's
  CsvTable cells;
  ScenarioSettings settings;
};

/// The file's name without what kind of file it is, with its folder's where two files have one name.
std::string name_of_table(const std::string& file, const std::vector<std::string>& files) {
  const auto name_of_file = [](const std::string& path) {
    const std::string name = std::filesystem::path{path}.filename().string();
    return name.substr(0, name.find(".csv"));
  };
  const std::string name = name_of_file(file);
  const auto same = std::ranges::count(files, name, name_of_file);
  return same == 1 ? name : std::filesystem::path{file}.parent_path().filename().string() + "/" + name;
}

std::vector<MeasuredTable> tables_of(const ValidationSet& set, const std::filesystem::path& data) {
  std::vector<MeasuredTable> tables;
  for (const std::string& file : set.files()) {
    const auto settings = set.tables.find(file);
    tables.push_back({name_of_table(file, set.files()), CsvTable::from_file(data / file),
                      settings == set.tables.end() ? ScenarioSettings{} : settings->second});
  }
  return tables;
}

/// The table's facts on a row; the prediction is still to come.
ValidationPoint measured_point(const ValidationSet& set, const MeasuredTable& table, std::size_t row,
                               const std::vector<std::string>& columns, const ScenarioSettings& settings) {
  ValidationPoint point;
  for (const std::string& column : columns) {
    const bool names_file = !set.tables.empty() && column == "table";
    point.labels.push_back(names_file ? table.name : table.cells.cell(row, column));
  }
  const double step = measured_step(set, table.cells, row, settings);
  point.step.measured = step * set.unit;
  if (set.measured.gpu_busy) {
    point.gpu_busy.emplace().measured = positive(table.cells, row, *set.measured.gpu_busy) * set.unit;
  }
  for (const OtherPredictor& other : set.others) {
    point.step.others.push_back(other.published ? error_published(table.cells, row, *other.published, step)
                                                : error_in(table.cells, row, other.step_error));
    if (point.gpu_busy) {
      point.gpu_busy->others.push_back(error_in(table.cells, row, other.gpu_busy_error));
    }
  }
  return point;
}

/// The rows of a set, in the order of its tables: where they are and what was measured.
struct AskedRow {
  const MeasuredTable* table;
  std::size_t row;
};

/// Tells if a row is shorter than ValidationSet::shortest. Rows that measure nothing are not: refused later.
bool is_shorter(const ValidationSet& set, const MeasuredTable& table, std::size_t row) {
  try {
    const ScenarioSettings settings = settings_of(set, table.cells, row, table.settings);
    return measured_step(set, table.cells, row, settings) * set.unit < set.shortest;
  } catch (const InputError&) {
    return false;
  }
}

/// Rows that the set asks for; the others are counted.
std::vector<AskedRow> asked_rows(const ValidationSet& set, const std::vector<MeasuredTable>& tables,
                                 std::size_t& left_out) {
  std::vector<AskedRow> asked;
  for (const MeasuredTable& table : tables) {
    const std::vector<std::size_t> rows = rows_of(set, table.cells);
    left_out += table.cells.rows();
    for (const std::size_t row : rows) {
      if (set.shortest > Seconds{0} && is_shorter(set, table, row)) {
        continue;
      }
      asked.push_back({&table, row});
      --left_out;
    }
  }
  return asked;
}

/// @pre the tables have rows, and the set asks for none of them
std::string why_nothing_is_asked(const ValidationSet& set, const std::vector<MeasuredTable>& tables) {
  std::size_t rows = 0;
  for (const MeasuredTable& table : tables) rows += rows_of(set, table.cells).size();
  return rows == 0 ? fmt::format("no row has the cells that set '{}' asks for (where)", set.name)
                   : fmt::format("none of the {} rows that set '{}' asks for took {} or more (shortest)",
                                 rows, set.name, set.shortest);
}

/// Reads each so-manieth row. Those whose cells are not in order are refused.
void read_rows(std::span<const AskedRow> rows, MeasuredSet& into) {
  Validation& validation = into.validation;
  for (std::size_t i = 0; i < rows.size(); i += validation.every) {
    const auto& [table, row] = rows[i];
    try {
      ScenarioSettings settings = settings_of(validation.set, table->cells, row, table->settings);
      ValidationPoint point = measured_point(validation.set, *table, row, validation.columns, settings);
      into.rows.push_back(std::move(settings));
      into.measured.push_back({table->cells.place(row), std::move(point)});
    } catch (const InputError& problem) {
      validation.refused.push_back({problem.problems().front().where, problem.problems().front().message});
    }
  }
}

void take_prediction(const MeasuredColumns& measured, const PredictedTimes& times, ValidationPoint& point) {
  point.step.predicted = times.step + measured.timing_adds;
  point.step.band = times.band;
  point.spread = times.spread;
  point.in_range = times.in_range;
  if (point.gpu_busy) {
    point.gpu_busy->predicted = times.gpu_busy + times.kernels * measured.profiler_adds;
  }
}

}  // namespace

MeasuredSet measured_set(const ValidationSet& set, const std::filesystem::path& data, std::size_t every) {
  const std::vector<MeasuredTable> tables = tables_of(set, data);
  MeasuredSet result;
  Validation& validation = result.validation;
  validation.set = set;
  validation.columns = columns_of(set);
  validation.every = every;
  const std::vector<AskedRow> rows = asked_rows(set, tables, validation.left_out);
  if (rows.empty()) {
    throw InputError{{(data / set.files().front()).string()},
                     validation.left_out == 0 ? "the table has no rows" : why_nothing_is_asked(set, tables)};
  }
  read_rows(rows, result);
  return result;
}

Validation compared(MeasuredSet set, std::span<const PredictedTimes> times) {
  Validation validation = std::move(set.validation);
  if (times.size() != set.measured.size()) {
    throw std::logic_error{"compared: one prediction for each measured row"};
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    auto& [at, point] = set.measured[i];
    if (!times[i].refused.empty()) {
      validation.refused.push_back({at, times[i].refused});
      continue;
    }
    take_prediction(validation.set.measured, times[i], point);
    validation.points.push_back(std::move(point));
  }
  if (validation.points.empty()) {
    throw InputError{validation.refused.front().at, validation.refused.front().why};
  }
  return validation;
}

Validation validate(const ValidationSet& set, const std::filesystem::path& data, const PredictRows& predict,
                    std::size_t every) {
  MeasuredSet measured = measured_set(set, data, every);
  const std::vector<PredictedTimes> times = predict(measured.rows);
  return compared(std::move(measured), times);
}

}  // namespace lockstep
