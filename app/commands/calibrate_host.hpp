#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

struct CalibrateHostOptions {
  std::vector<std::string> traces;  ///< files or folders
  std::string probe;                ///< of tools/capture/probe_host.py, in place of traces; or empty
  std::string cpu;                  ///< core of the CPU, in place of traces; or empty
  double clock_ghz = 0;             ///< of one busy core; 0: the usual one
  std::string python;               ///< version; or empty
  bool is_virtual = false;
  std::string name;  ///< of the new profile; empty: that of the output
  std::string start = "a100_server";
  std::string event_cost = "2 us", call_cost = "2 us";  ///< what the profiler adds
  std::string step_time;                                ///< of a step without it, which tells both; or empty
  bool with_observers = false;                          ///< take traces that record more than times
  std::filesystem::path output;                         ///< empty: stdout
};

/// A host's overheads from traces of PyTorch's profiler. Returns the exit code.
/// @throws InputError, std::invalid_argument
int calibrate_host_command(const CalibrateHostOptions& options);

/// Registers `lockstep calibrate host`.
void add_calibrate_host(CLI::App& calibrate, std::function<int()>& action);

}  // namespace lockstep
