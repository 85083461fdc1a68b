#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// The machine that was measured, as the comment lines `# name: value` above every table.
struct MachineDescription {
  /// Facts that must be the same for tables to be continued: GPUs, driver, versions.
  std::vector<std::pair<std::string, std::string>> identity;
  /// Facts that are noted and may differ: date, clocks, temperature, host name.
  std::vector<std::pair<std::string, std::string>> found;
};

/// One `# name: value` a line, the identity first; line ends in values become blanks.
[[nodiscard]] std::string comment_lines(const MachineDescription& machine);

/// The value of `# name: value` in the comment lines of a table, "" where there is none.
[[nodiscard]] std::string commented_value(const std::string& table, const std::string& name);

}  // namespace lockstep
