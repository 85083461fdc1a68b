#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// When DistributedDataParallel starts an all-reduce.
struct BucketLimits {
  Bytes first{1024.0 * 1024};        ///< torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, to start early
  Bytes others{25.0 * 1024 * 1024};  ///< bucket_cap_mb

  bool operator==(const BucketLimits&) const = default;
};

/// The gradient buckets of DistributedDataParallel after its first iteration, when they have been rebuilt in
/// the order in which gradients become ready: gradients join the open bucket until it holds at least its
/// limit, then it is all-reduced on the communication stream while backward goes on.
///
/// With Apex's DistributedDataParallel (FrameworkSpec::apex) gradients are gathered when the bucket is full,
/// by one kernel on the compute stream; on a stream of its own they are all-reduced, averaged and copied
/// back. All buckets have the limit of the others. *Source*: github.com/NVIDIA/apex,
/// apex/parallel/distributed.py (delay_allreduce=False, one stream); `message_size` there counts elements,
/// 10,000,000 by default.
///
/// Checked: the two all-reduces of ../shared/data/traces/dlrm_8xv100 (394,241 and 226,960 elements).
/// *Source*: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size; Li et al., VLDB 2020
/// (arXiv 2006.15704), section 4.2.
class GradientBuckets {
 public:
  /// One rank: no DistributedDataParallel, nothing is written.
  /// @param expected how many gradients there are: the last one starts the last all-reduce
  GradientBuckets(StepWriter& step, BucketLimits limits, std::size_t expected)
      : step_{step}, limits_{limits}, expected_{expected} {}

  /// A gradient of the model's type has been accumulated: scales it into its bucket and starts the bucket's
  /// all-reduce when it is full. In gradient accumulation called in the last micro-batch only (no_sync).
  void ready(std::int64_t elements);

  /// At the end of backward: lets the compute stream wait for all buckets and copies gradients back unless
  /// they are views of the buckets. @throws std::logic_error when other than the expected gradients came
  void finish();

  [[nodiscard]] const std::vector<std::int64_t>& sizes() const { return sizes_; }  ///< elements, in order

 private:
  void reduce();
  void reduce_as_apex();

  StepWriter& step_;
  BucketLimits limits_;
  std::size_t expected_;
  std::int64_t open_elements_ = 0;
  std::vector<std::int64_t> gradients_;  // elements
  std::size_t reduced_ = 0;              // of them, the first
  std::vector<std::int64_t> sizes_;      // of reduced buckets
  std::vector<EventId> ends_;
};

}  // namespace lockstep
