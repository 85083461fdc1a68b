#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/collectives/collective_planner.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {

/// A kind of collective on a cluster, against what was recorded.
struct TransferComparison {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Bytes size;
  std::size_t ranks = 0;
  double recorded = 0;       ///< s, from the last arrival to the end
  double predicted = 0;      ///< s, alone on the cluster
  bool is_inferred = false;  ///< the trace does not say its size: it is the one that takes the recorded time
};

/// A job's collectives as the planner's cluster carries them, in place of their recorded transfer times.
/// Where the trace does not say a size, it is the one whose transfer would take the recorded time (found by
/// bisection on the planner's curve, at most 64 GiB).
/// @return the comparison, one for each collective of the first trace
/// @throws std::invalid_argument when the planner cannot carry one
/// @param ranks recordings of the programs of @p job, by trace
std::vector<TransferComparison> resimulate_collectives(Job& job, const std::vector<RankRecording>& ranks,
                                                       const CollectivePlanner& planner,
                                                       const Fabric& fabric);

}  // namespace lockstep::replay
