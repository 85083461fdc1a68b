#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep {

struct SweepCommandOptions {
  std::string scenario;                  ///< name of a shipped one, file or folder
  std::string folder;                    ///< where results go; empty: lockstep-out/NAME
  std::vector<std::string> assignments;  ///< KEY=VALUE or KEY=A,B
  int jobs = 0;                          ///< points at a time; 0: as many as there are cores
  std::string shard;                     ///< I/N; empty: as the launcher says
  std::string slurm;                     ///< file of a job-array script to write instead of a sweep
  std::string json;                      ///< `-`: the table as JSON to stdout
  bool quiet = false;
};

/// Simulates all points of a scenario's matrix that have no result yet; prints the table, writes sweep.csv,
/// sweep.json and plots.
/// @return 0 when any point has an answer, else the exit code of the first
/// @throws InputError
int sweep_command(const SweepCommandOptions& options);

/// Registers `lockstep sweep`; when it was called, @p action runs it.
void add_sweep_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
