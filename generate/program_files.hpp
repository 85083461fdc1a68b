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

/// Files that build and run the table, the table among them. CUDA: CMakeLists.txt, run.sh and the sources of
/// the families that the table names. PyTorch: a Python script.
[[nodiscard]] std::vector<ProgramFile> program_files(const benchmark::Table& table, Target target);

/// Whether a file of this name belongs to a program that was generated.
[[nodiscard]] bool is_of_program(const std::string& name);

}  // namespace lockstep::generate
