#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct ReplayOptions {
  std::vector<std::string> traces;  ///< files or folders
  std::string edits;                ///< YAML file of a ReplaySpec; empty: none
  std::vector<Override> overrides;  ///< keys of ReplaySpec
  std::string folder;               ///< for timelines; empty: none are written
  std::string json;                 ///< `-`: to stdout instead of the tables
  std::string chakra;               ///< folder for Chakra traces of the replay; empty: none are written
  bool quiet = false;
  bool in_full = false;
};

/// Lets recorded traces take place again, as they were and changed; prints simulated against measured.
/// @throws InputError, StallError
int replay_command(const ReplayOptions& options);

/// Registers `lockstep replay`; when it was called, @p action runs it.
void add_replay_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
