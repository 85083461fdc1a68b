#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// What backward does with a finished parameter gradient.
class GradientSink {
 public:
  /// @param buckets null when this backward pass does not synchronise (no_sync of gradient accumulation)
  /// @param adds the gradient exists already: zeroed instead of dropped, or from an earlier micro-batch
  GradientSink(StepWriter& step, GradientBuckets* buckets, bool adds)
      : step_{step}, buckets_{buckets}, adds_{adds} {}

  /// AccumulateGrad of a parameter of so many elements, then its DDP hook.
  void accumulate(std::int64_t elements);

 private:
  StepWriter& step_;
  GradientBuckets* buckets_;
  bool adds_;
};

}  // namespace lockstep
