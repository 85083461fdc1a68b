#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "traces/replay/bucket_edit.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {

/// A replay's Job with other buckets.
struct Rebucketed {
  Job job;
  std::vector<std::vector<std::vector<std::uint32_t>>> subjects;  ///< by trace, as RankProgram::subjects
  std::size_t recorded = 0, made = 0;                             ///< all-reduces of a rank
  double bytes = 0;                                               ///< of the recorded ones
};

/// Reduces the gradients of data-parallel ranks in other buckets than were recorded. A new bucket is sent
/// once its last gradient is ready and the bucket before it was sent; who waited for a recorded bucket waits
/// for all that its gradients are in now. A bucket without change stays as it is. Without a cluster a
/// transfer takes what the line through the recorded ones (least squares over bytes, latency at least 0)
/// says; on one, it is simulated.
///
/// Assumes: nobody waits for a bucket before the end of backward (a recorded wait that seems to meant other
/// communication); the host spends as long on an all-reduce as the median recorded one.
/// @throws std::invalid_argument when no all-reduce of gradients was recorded, or no sizes
[[nodiscard]] Rebucketed rebucketed(const Replay& replay, const BucketEdit& edit);

}  // namespace lockstep::replay
