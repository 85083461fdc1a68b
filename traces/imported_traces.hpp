#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "traces/chakra/trace_summary.hpp"
#include "traces/pipeline/timeline.hpp"
#include "traces/pytorch_et/execution_trace.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep {

/// Traces of all kinds, told apart by what they hold.
struct ImportedTraces {
  /// Profiles (Kineto): of a job together, of the same rank each on its own.
  std::vector<replay::Replay> replays;
  std::vector<pytorch_et::ExecutionTrace> execution_traces;
  std::vector<chakra::TraceSummary> chakra;
  std::vector<pipeline::Timeline> pipelines;
  std::vector<std::string> others;   ///< files of folders that are no traces, and why
  std::vector<std::string> damaged;  ///< traces of folders that cannot be read, and why

  /// The profiles, in the order of the replays.
  [[nodiscard]] std::vector<const replay::RankRecording*> profiles() const;
};

/// A file of another kind, which a folder may hold beside traces.
class NoTrace : public InputError {
 public:
  using InputError::InputError;
};

/// A file that another tool wrote, which one is known (foreign_profile.hpp).
class ForeignTrace : public NoTrace {
 public:
  using NoTrace::NoTrace;
};

/// @param paths files, or folders, whose files *.json, *.et, gz or not, are read
/// @throws NoTrace for a file that was named and is none; InputError for one that cannot be read, and a
/// folder without traces
[[nodiscard]] ImportedTraces import_traces(const std::vector<std::string>& paths);

}  // namespace lockstep
