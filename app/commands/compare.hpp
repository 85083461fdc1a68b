#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lockstep {

struct CompareOptions {
  std::string a, b;      ///< result folders or timeline files
  std::string json;      ///< `-`: to stdout instead of the text
  std::string timeline;  ///< both side by side; empty: none
  std::string folder;    ///< for report.html and comparison.json; empty: none
  std::string families;  ///< a list of kernel families, by name or file; empty: the standard one alone
  int rank = 0;
  std::size_t rows = 10;  ///< of each table
};

/// Tells what got slower and faster from one run to another. @throws InputError
int compare_command(const CompareOptions& options);

/// Registers `lockstep compare`; when it was called, @p action runs it.
void add_compare_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
