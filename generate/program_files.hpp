#pragma once

#include <set>
#include <string>
#include <vector>

#include "generate/benchmark.hpp"
#include "generate/runtime/table.hpp"

namespace lockstep::generate {

/// A file of the program's folder.
struct ProgramFile {
  std::string name;
  std::string content;
  bool is_executable = false;
};

inline constexpr const char* kOperationTable = "operations.txt";

/// What builds and runs the table: its sources (those of the families that it names), CMakeLists.txt, run.sh;
/// or a Python script. The table itself is among them.
[[nodiscard]] std::vector<ProgramFile> program_files(const benchmark::Table& table, Target target);

/// Whether a file of this name belongs to a program that was generated.
[[nodiscard]] bool is_of_program(const std::string& name);

}  // namespace lockstep::generate
