#pragma once

#include <span>
#include <vector>

#include "traces/replay/bucket_edit.hpp"

namespace lockstep::replay {

/// A gradient of a series of buckets, in the order in which they became ready.
struct PlannedGradient {
  std::size_t bucket = 0;  ///< of the recorded ones
  double bytes = 0;
};

/// Gradients of one all-reduce, as places in that order.
struct PlannedBucket {
  std::vector<std::size_t> gradients;
  double bytes = 0;
};

/// Gradients join the open bucket until it holds at least its limit.
/// *Source*: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
[[nodiscard]] std::vector<PlannedBucket> plan_buckets(std::span<const PlannedGradient> gradients,
                                                      const BucketEdit& edit);

}  // namespace lockstep::replay
