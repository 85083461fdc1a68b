#include "calibration/measure/results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "base/error.hpp"
#include "base/file.hpp"
#include "calibration/csv_table.hpp"

namespace lockstep {
namespace {

/// Cuts off a last line without its end: the row that was being written when the program was killed.
std::string whole_lines(const std::filesystem::path& path) {
  std::string text = read_own_file(path);
  const std::size_t end = text.rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole != text.size()) {
    text.resize(whole);
    write_whole_file(path, text);
  }
  return text;
}

std::string header_of(const std::string& table) {
  std::size_t begin = 0;
  while (begin < table.size() && (table[begin] == '#' || table[begin] == '\n')) {
    begin = std::min(table.size(), table.find('\n', begin) + 1);
  }
  return table.substr(begin, table.find('\n', begin) - begin);
}

}  // namespace

std::vector<std::string> columns_of(const Family& family) {
  std::vector<std::string> columns = family.parameters;
  for (const char* figure :
       {"repeats", "median_us", "least_us", "tenth_us", "ninetieth_us", "median_error", "sm_clock_mhz"}) {
    columns.emplace_back(figure);
  }
  columns.insert(columns.end(), family.facts.begin(), family.facts.end());
  columns.insert(columns.end(), family.rates.begin(), family.rates.end());
  return columns;
}

ResultsFile::ResultsFile(const std::filesystem::path& folder, const Family& family,
                         const MachineDescription& machine, bool resume)
    : path_{folder / (family.name + ".csv")}, family_{family} {
  if (!std::filesystem::exists(path_)) {
    begin(machine);
  } else if (resume) {
    go_on(machine);
  } else {
    throw InputError{{path_.string()},
                     "is there already; --resume goes on with it, --out names another folder"};
  }
}

void ResultsFile::begin(const MachineDescription& machine) {
  write_whole_file(path_, fmt::format("# lockstep-measure {}: {}\n{}{}\n", family_.name, family_.what,
                                      comment_lines(machine), fmt::join(columns_of(family_), ",")));
}

void ResultsFile::go_on(const MachineDescription& machine) {
  const std::string text = whole_lines(path_);
  for (const auto& [name, value] : machine.identity) {
    const std::string before = commented_value(text, name);
    if (before != value) {
      throw InputError{{path_.string()},
                       fmt::format("was measured with {} '{}', and this is '{}'; --out names another folder",
                                   name, before, value)};
    }
  }
  const std::string header = fmt::format("{}", fmt::join(columns_of(family_), ","));
  if (header_of(text) != header) {
    throw InputError{{path_.string()},
                     fmt::format("has other columns than this version writes; --out names another folder\n"
                                 "  there: {}\n  here:  {}",
                                 header_of(text), header)};
  }
  const CsvTable table = CsvTable::from_text(text, path_.string());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GridPoint point;
    for (const std::string& name : family_.parameters) {
      point.set(name, table.cell(row, name));
    }
    measured_.insert(point.key());
  }
}

void ResultsFile::append(const Row& row) {
  const std::vector<double> rates = family_.rates_of(row.point, row.spread.median);
  if (row.facts.size() != family_.facts.size() || rates.size() != family_.rates.size()) {
    throw std::logic_error{fmt::format("{}: a row does not fill its columns", family_.name)};
  }
  const auto microseconds = [](Seconds time) { return time / Seconds{1e-6}; };
  std::string line = fmt::format(
      "{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.3g},{}", row.point.key(), row.spread.repeats,
      microseconds(row.spread.median), microseconds(row.spread.least), microseconds(row.spread.tenth),
      microseconds(row.spread.ninetieth), row.spread.median_error, row.sm_clock_mhz);
  for (const std::string& fact : row.facts) {
    line += "," + fact;
  }
  for (const double rate : rates) {
    line += fmt::format(",{:.5g}", rate);
  }
  write(line + "\n");
  measured_.insert(row.point.key());
}

void ResultsFile::write(const std::string& text) {
  std::ofstream file{path_, std::ios::app | std::ios::binary};
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.flush();
  if (!file) {
    throw InputError{{path_.string()}, "cannot be written"};
  }
}

}  // namespace lockstep
