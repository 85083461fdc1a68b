#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep {

struct ImportOptions {
  std::vector<std::string> files;  ///< files, folders or ids of models
  std::string output;              ///< file for the scenario; empty: stdout
  std::string json;                ///< `-`: to stdout instead of the text
  std::string emit;                ///< framework whose launch flags are printed; empty: none
  std::string chakra;              ///< folder for Chakra traces of the profiles; empty: none are written
};

/// Writes a scenario from files that describe a job or a machine (import/recognisers.hpp).
/// Reads traces and prints what they hold, what is odd about them, and what had to be inferred: profiles
/// (Kineto), execution traces of PyTorch, which are linked to the profile of the same rank where both are
/// given, Chakra traces, timelines of pipelines.
/// @throws InputError
int import_command(const ImportOptions& options);

/// Registers `lockstep import`; when it was called, @p action runs it.
void add_import_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
