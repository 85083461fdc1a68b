#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "calibration/measure/family.hpp"
#include "calibration/measure/machine_description.hpp"
#include "calibration/measure/statistics.hpp"

namespace lockstep {

/// One measured point.
struct Row {
  GridPoint point;
  Spread spread;
  std::vector<std::string> facts;  ///< as many as the family's
  int sm_clock_mhz = 0;            ///< right after the repeats, as found; 0 where it is not known
};

/// The header line of a family's table: parameters, figures of time, facts, rates.
[[nodiscard]] std::vector<std::string> columns_of(const Family& family);

/// `NAME.csv` of one family, a row at a time. A row is written in one piece, and flushed, so that a run that
/// is killed loses at most the point it was measuring.
class ResultsFile {
 public:
  /// Begins the table, or goes on with the one that is there where @p resume says so: a last line that was
  /// cut off is removed.
  /// @throws InputError for a table that is there without @p resume, that is another machine's, or has other
  /// columns
  ResultsFile(const std::filesystem::path& folder, const Family& family, const MachineDescription& machine,
              bool resume);

  [[nodiscard]] bool has(const GridPoint& point) const { return measured_.contains(point.key()); }
  [[nodiscard]] std::size_t rows() const { return measured_.size(); }

  /// @throws InputError when it cannot be written (a full disk)
  void append(const Row& row);

 private:
  void begin(const MachineDescription& machine);
  void go_on(const MachineDescription& machine);
  void write(const std::string& text);

  std::filesystem::path path_;
  const Family& family_;
  std::set<std::string> measured_;  ///< keys of the rows that are there
};

}  // namespace lockstep
