#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "traces/replay/rank_program.hpp"

namespace lockstep::replay {

/// Traces of a job's ranks, made ready to take place again.
struct Replay {
  std::vector<RankRecording> ranks;   ///< by trace
  std::vector<RankProgram> programs;  ///< by trace; their Program has moved to `job`
  Job job;                            ///< without GPUs; rank r runs program r mod (number of traces)
};

/// Reads traces, of whatever ranks and jobs.
/// @param paths files, or folders; of a folder those *.json and *.json.gz files that are traces
/// @throws InputError for what cannot be read, or when a folder has none
[[nodiscard]] std::vector<kineto::RecordedTrace> read_windows(const std::vector<std::string>& paths);

/// The same for one job: in the order of their ranks. @throws InputError also when two are of the same rank
[[nodiscard]] std::vector<kineto::RecordedTrace> read_traces(const std::vector<std::string>& paths);

/// @param traces by rank, of one job and of the same steps
/// @param ranks to replay: 0 or as many as traces, or a multiple. Rank r does what trace r mod (number of
///   traces) does; ReplayGroups says who meets whom. Of a single trace every rank arrives at collectives at
///   the same time.
/// @param families say which work communicates
/// @throws InputError when a trace holds nothing that can be replayed
/// @throws std::invalid_argument for another number of ranks, or one that a single trace's groups do not
/// divide
[[nodiscard]] Replay make_replay(std::vector<kineto::RecordedTrace> traces, std::uint32_t ranks = 0,
                                 const KernelFamilies& families = standard_families());

}  // namespace lockstep::replay
