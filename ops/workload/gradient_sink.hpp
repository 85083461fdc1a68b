#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

class GradientReduction;

/// Receives finished parameter gradients of backward.
class GradientSink {
 public:
  /// @param buckets null when this backward pass does not synchronise (no_sync of gradient accumulation)
  /// @param adds the gradient exists already: zeroed instead of dropped, or from an earlier micro-batch
  GradientSink(StepWriter& step, GradientBuckets* buckets, bool adds)
      : step_{step}, buckets_{buckets}, adds_{adds} {}
  /// The sink of ZeRO or FSDP.
  GradientSink(StepWriter& step, GradientReduction& sharded)
      : step_{step}, buckets_{nullptr}, sharded_{&sharded}, adds_{false} {}

  /// Whether the parameters that backward is at are trained; of others nothing is accumulated.
  void train(bool trains) { trains_ = trains; }
  [[nodiscard]] bool trains() const { return trains_; }

  /// AccumulateGrad of a parameter of so many elements, then its DDP hook.
  void accumulate(std::int64_t elements);
  /// Accumulates a gradient that lies in memory otherwise than its parameter: it is copied into that order.
  void accumulate_strided(std::int64_t elements);

  /// A compiled graph is one node of autograd, which hands over all its gradients when it ends: from hold()
  /// on they are kept back, and accumulated by release().
  void hold() { holds_ = true; }
  void release();

 private:
  void finish(std::int64_t elements);

  StepWriter& step_;
  GradientBuckets* buckets_;
  GradientReduction* sharded_ = nullptr;  ///< which adds and reduces, instead
  bool adds_;
  bool holds_ = false;
  bool trains_ = true;
  std::vector<std::int64_t> held_;
};

}  // namespace lockstep
