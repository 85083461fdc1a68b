#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace lockstep {

/// A table of measurements: comma-separated values under one header line; lines that begin with # are
/// comments, quoted cells may hold commas. Behind a UTF-8 byte order mark, as spreadsheets write it, the
/// first line is the header whatever it begins with (`# GPUs`). Of columns with one name the second is called
/// NAME.1, as pandas has it.
class CsvTable {
 public:
  /// Plain or gzip. @throws InputError for a file that cannot be read, a line with too many or few cells
  static CsvTable from_file(const std::filesystem::path& path);
  /// @p file_name is for messages. @throws InputError as from_file()
  static CsvTable from_text(const std::string& text, const std::string& file_name);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] bool has(const std::string& column) const;

  /// The value of the comment line `# KEY: VALUE`, the form in which lockstep-measure writes facts of the
  /// machine; "" without one.
  [[nodiscard]] std::string fact(const std::string& key) const;
  /// All such lines, in their order.
  [[nodiscard]] std::vector<std::string> facts(const std::string& key) const;

  /// @throws InputError for a column there is not, with the one that was meant
  [[nodiscard]] const std::string& cell(std::size_t row, const std::string& column) const;
  /// @throws InputError at the cell's line where it holds no number
  [[nodiscard]] double number(std::size_t row, const std::string& column) const;

  /// For messages of the table's readers: file and line of a row.
  [[nodiscard]] SourceLocation place(std::size_t row) const;
  [[noreturn]] void complain(std::size_t row, const std::string& message) const;

 private:
  struct Row {
    int line;
    std::vector<std::string> cells;
  };
  void read_line(int number, const std::string& line);
  void read_header(int line, std::vector<std::string> columns);

  std::string file_;
  int header_line_ = 0;
  std::vector<std::string> comments_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace lockstep
