#include "traces/replay/bucket_plan.hpp"

namespace lockstep::replay {

std::vector<PlannedBucket> plan_buckets(std::span<const PlannedGradient> gradients, const BucketEdit& edit) {
  std::vector<PlannedBucket> buckets;
  PlannedBucket open;
  double limit = edit.first.value_or(edit.size).in_base_units();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::size_t gradient = edit.order == BucketOrder::Ready ? i : gradients.size() - 1 - i;
    open.gradients.push_back(gradient);
    open.bytes += gradients[gradient].bytes;
    if (open.bytes >= limit) {
      buckets.push_back(std::move(open));
      open = {};
      limit = edit.size.in_base_units();
    }
  }
  if (!open.gradients.empty()) {
    buckets.push_back(std::move(open));
  }
  return buckets;
}

}  // namespace lockstep::replay
