#pragma once

/// @file
/// Rows of the measured tables in ../shared/data, and figures of error over them.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace lockstep::testing {

inline std::filesystem::path measured(const std::string& file) {
  return std::filesystem::path{LOCKSTEP_SOURCE_DIR} / ".." / "shared" / "data" / file;
}

/// The cells of a line of comma-separated values; quoted cells may hold commas.
inline std::vector<std::string> cells_of(const std::string& line) {
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

using Row = std::map<std::string, std::string>;

/// All rows under the header; lines that begin with # are comments.
inline std::vector<Row> read_table(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::vector<Row> rows;
  std::vector<std::string> header;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const auto cells = cells_of(line);
    if (header.empty()) {
      header = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < std::min(header.size(), cells.size()); ++i) {
      row.try_emplace(header[i], cells[i]);  // of two columns of one name the first
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Relative errors, gathered.
class Errors {
 public:
  void add(double predicted, double true_value) {
    const double error = predicted / true_value - 1;
    ++count_;
    sum_ += error;
    absolute_ += std::abs(error);
    logarithms_ +=
        std::log(std::max(std::abs(error), 1e-4));  // an error of nothing must not make the mean nothing
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] double mean() const { return sum_ / count_; }
  [[nodiscard]] double mean_absolute() const { return absolute_ / count_; }
  [[nodiscard]] double geometric_mean() const { return std::exp(logarithms_ / count_); }

 private:
  int count_ = 0;
  double sum_ = 0;
  double absolute_ = 0;
  double logarithms_ = 0;
};

}  // namespace lockstep::testing
