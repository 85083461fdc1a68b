#pragma once

/// @file
/// Reads the measured tables of ../shared/data: CSV, plain or gzip, `#` comments, quoted fields.

#include <zlib.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::validation {

using CsvRow = std::map<std::string, std::string>;

/// The folder of measurements beside the source tree; does not exist everywhere.
inline std::filesystem::path measurements() {
  return LOCKSTEP_SOURCE_DIR "/../shared/data";
}

inline std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

/// One line without its end; gzgets reads plain files as well. False at the end of the file.
inline bool next_line(gzFile file, std::string& line) {
  line.clear();
  char buffer[4096];
  while (gzgets(file, buffer, sizeof buffer) != nullptr) {
    line += buffer;
    if (line.back() == '\n') {
      line.pop_back();
      return true;
    }
  }
  return !line.empty();
}

inline std::vector<CsvRow> read_csv(const std::filesystem::path& path) {
  std::vector<CsvRow> rows;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return rows;
  std::vector<std::string> header;
  std::string line;
  while (next_line(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> fields = split_csv(line);
    if (header.empty()) {
      header = std::move(fields);
      continue;
    }
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < fields.size() && i < header.size(); ++i) row[header[i]] = fields[i];
  }
  gzclose(file);
  return rows;
}

/// All files `<device>.csv.gz` of one NeuSight operator, training and test part.
inline std::vector<CsvRow> read_neusight(const std::string& operation, const std::string& table,
                                         const std::string& device) {
  const auto folder = measurements() / "kernels/neusight/dataset";
  std::vector<CsvRow> rows = read_csv(folder / "train/collect" / operation / "p2.1.0" / (device + ".csv.gz"));
  for (CsvRow& row : read_csv(folder / "test" / (table + ".csv.gz"))) {
    if (row["Device"] == device && row["OPName"] == operation) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lockstep::validation
