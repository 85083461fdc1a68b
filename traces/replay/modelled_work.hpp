#pragma once

#include <span>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"
#include "traces/replay/operator_work.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {

/// The work of a trace's kernels, by the operators that launched them: the innermost operator around a launch
/// whose shapes were recorded. Copies and memsets by their bytes. Communication is left out.
/// @param tables that FBGEMM's fused lookups are over, some of them on each rank; none: not known
/// @throws std::invalid_argument where a lookup is over none of @p tables
[[nodiscard]] std::vector<ModelledWork> modelled_work(const RankRecording& rank,
                                                      std::span<const EmbeddingTable> tables = {});

/// Tells by the trace's work whether it is communication.
[[nodiscard]] std::vector<bool> communicates(const RankRecording& rank);

[[nodiscard]] double seconds_of(const kineto::Work& work);

}  // namespace lockstep::replay
