#include "calibration/measure/machine_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace lockstep {
namespace {

std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

std::string comment_lines(const MachineDescription& machine) {
  std::string lines;
  for (const auto* values : {&machine.identity, &machine.found}) {
    for (const auto& [name, value] : *values) {
      lines += fmt::format("# {}: {}\n", name, on_one_line(value));
    }
  }
  return lines;
}

std::string commented_value(const std::string& table, const std::string& name) {
  const std::string beginning = fmt::format("# {}: ", name);
  std::istringstream lines{table};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(beginning)) {
      return line.substr(beginning.size());
    }
  }
  return {};
}

}  // namespace lockstep
