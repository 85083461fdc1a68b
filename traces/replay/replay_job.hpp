#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "traces/replay/rank_program.hpp"

namespace lockstep::replay {

/// Traces of a job's ranks, made ready to take place again.
struct Replay {
  std::vector<RankRecording> ranks;      ///< by rank
  std::vector<RankProgram> programs;     ///< by rank; their Program has moved to `job`
  Job job;                               ///< without GPUs
  std::vector<std::string> group_names;  ///< of the job's groups
};

/// Reads traces and puts them in the order of their ranks.
/// @param paths files, or folders of *.json and *.json.gz files
/// @throws InputError for what cannot be read, when two traces are of the same rank, or when a folder has
/// none
[[nodiscard]] std::vector<kineto::RecordedTrace> read_traces(const std::vector<std::string>& paths);

/// @param traces by rank, of one job and of the same steps
/// @throws InputError when a trace holds nothing that can be replayed
[[nodiscard]] Replay make_replay(std::vector<kineto::RecordedTrace> traces);

}  // namespace lockstep::replay
