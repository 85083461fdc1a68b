#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct ScheduleOptions {
  std::string scenario;  ///< name of a shipped one, file or folder
  std::string folder;    ///< where results go; empty: lockstep-out/NAME
  std::vector<Override> overrides;
  std::string against;  ///< `dense`, or another scenario
  std::string search;   ///< empty: the scenario's own phases
  std::string json;     ///< `-`: figures to stdout instead of the text
  bool no_timeline = false;
  bool quiet = false;
};

/// Predicts a training whose model grows and is pruned: prints phases, transitions and what is saved; writes
/// schedule.json, schedule.svg, each phase as a scenario, and timelines.
/// @throws InputError, StallError, OutOfMemoryError
int schedule_command(const ScheduleOptions& options);

/// Registers `lockstep schedule`; when it was called, @p action runs it.
void add_schedule_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
