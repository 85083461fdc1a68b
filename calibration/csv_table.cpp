#include "calibration/csv_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/suggest.hpp"
#include "traces/unpacked.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

CsvTable CsvTable::from_file(const std::filesystem::path& path) {
  return from_text(unpacked(read_whole_file(path), path.string()), path.string());
}

CsvTable CsvTable::from_text(const std::string& text, const std::string& file_name) {
  CsvTable table;
  table.file_ = file_name;
  const bool marked = text.starts_with(kByteOrderMark);
  std::istringstream lines{marked ? text.substr(kByteOrderMark.size()) : text};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool is_comment = line.starts_with('#') && !(marked && number == 1);
    if (is_comment) {
      table.comments_.push_back(line);
    } else if (!line.empty() && line != "\r") {
      table.read_line(number, line);
    }
  }
  if (table.columns_.empty()) {
    throw InputError{{file_name}, "the table has no header line"};
  }
  return table;
}

void CsvTable::read_line(int number, const std::string& line) {
  std::vector<std::string> cells = cells_of(line);
  if (columns_.empty()) {
    read_header(number, std::move(cells));
    return;
  }
  if (cells.size() != columns_.size()) {
    throw InputError{{file_, number, 1},
                     fmt::format("{} cells under {} columns", cells.size(), columns_.size())};
  }
  rows_.push_back({number, std::move(cells)});
}

void CsvTable::read_header(int line, std::vector<std::string> columns) {
  std::map<std::string, int> seen;
  for (std::string& column : columns) {
    const int before = seen[column]++;
    if (before > 0) {
      column += fmt::format(".{}", before);
    }
  }
  header_line_ = line;
  columns_ = std::move(columns);
}

bool CsvTable::has(const std::string& column) const {
  return std::ranges::find(columns_, column) != columns_.end();
}

std::string CsvTable::fact(const std::string& key) const {
  const std::vector<std::string> all = facts(key);
  return all.empty() ? "" : all.front();
}

std::vector<std::string> CsvTable::facts(const std::string& key) const {
  const std::string start = "# " + key + ": ";
  std::vector<std::string> found;
  for (const std::string& comment : comments_) {
    if (!comment.starts_with(start)) continue;
    const std::size_t end = comment.find_last_not_of("\r ");
    found.push_back(comment.substr(start.size(), end + 1 - start.size()));
  }
  return found;
}

const std::string& CsvTable::cell(std::size_t row, const std::string& column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) {
    throw InputError{{file_, header_line_, 1},
                     fmt::format("the table has no column '{}'{}", column, did_you_mean(column, columns_))};
  }
  return rows_.at(row).cells[static_cast<std::size_t>(found - columns_.begin())];
}

double CsvTable::number(std::size_t row, const std::string& column) const {
  const std::string& text = cell(row, column);
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) {
    complain(row, fmt::format("{}: '{}' is not a number", column, text));
  }
  if (!std::isfinite(value)) {
    complain(row, fmt::format("{}: {} is no measurement", column, text));
  }
  return value;
}

void CsvTable::complain(std::size_t row, const std::string& message) const {
  throw InputError{place(row), message};
}

SourceLocation CsvTable::place(std::size_t row) const {
  return {file_, rows_.at(row).line, 1};
}

}  // namespace lockstep
