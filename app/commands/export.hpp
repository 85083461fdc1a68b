#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct ExportOptions {
  std::string scenario;  ///< name of a shipped one, file or folder
  std::string folder;    ///< empty: lockstep-out/NAME
  std::vector<Override> overrides;
  bool gzip = false;
  bool for_astra_sim = false;  ///< nodes of the GPU alone, as its feeder reads them
  bool fold = false;           ///< ranks that do alike share a file
  bool quiet = false;
};

/// Writes what the ranks of a scenario do in a step as Chakra execution traces, a file a rank, their process
/// groups, and a scenario.yaml that runs them on the same machine.
/// @throws InputError
int export_command(const ExportOptions& options);

/// Registers `lockstep export`; when it was called, @p action runs it.
void add_export_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
