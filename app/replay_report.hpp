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

/// The answer in a few sentences: the step on its machine, against the recorded one, and what each change
/// makes of it.
[[nodiscard]] std::string replay_sentence(const ReplayRun& run, const ReplayRun::Result& plain,
                                          const std::vector<WhatIfResult>& changes);

/// replay_sentence(), then tables: simulated against measured by rank, steps, transfers on a given cluster,
/// changes against the plain replay, what had to be inferred.
/// @param in_full also streams, every step of every rank, and all of the import report
[[nodiscard]] std::string replay_text(const ReplayRun& run, const ReplayRun::Result& plain,
                                      const std::vector<WhatIfResult>& changes, bool in_full);

/// The same as JSON; times in seconds.
[[nodiscard]] std::string replay_json(const ReplayRun& run, const ReplayRun::Result& plain,
                                      const std::vector<WhatIfResult>& changes);

/// The mean step of the job: replay::mean_step().
[[nodiscard]] replay::Pair mean_step(const ReplayRun::Result& result);

/// The import reports of all ranks as one.
[[nodiscard]] ImportReport whole_report(const replay::Replay& replay);

}  // namespace lockstep
