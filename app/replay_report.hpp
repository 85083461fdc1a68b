#pragma once

#include <string>
#include <vector>

#include "scenario/replay_run.hpp"

namespace lockstep {

/// A change and what became of it.
struct WhatIfResult {
  std::string name;
  ReplayRun::Result result;
};

/// Tables: simulated against measured by rank, steps, transfers on a given cluster, changes against the plain
/// replay, what had to be inferred.
/// @param in_full also streams, every step of every rank, and all of the import report
[[nodiscard]] std::string replay_text(const ReplayRun& run, const ReplayRun::Result& plain,
                                      const std::vector<WhatIfResult>& changes, bool in_full);

/// The same as JSON; times in seconds.
[[nodiscard]] std::string replay_json(const ReplayRun& run, const ReplayRun::Result& plain,
                                      const std::vector<WhatIfResult>& changes);

/// Of the job: replay::mean_step().
[[nodiscard]] replay::Pair mean_step(const ReplayRun::Result& result);

/// The import reports of all ranks as one.
[[nodiscard]] ImportReport whole_report(const replay::Replay& replay);

}  // namespace lockstep
