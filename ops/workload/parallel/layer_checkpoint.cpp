#include "ops/workload/parallel/layer_checkpoint.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

LayerCheckpoint::LayerCheckpoint(const LayerScope& scope, Recompute recompute)
    : scope_{scope},
      waits_{recompute == Recompute::Full && scope.plan.spec.recompute_synchronize},
      partitions_{recompute == Recompute::Full && scope.plan.spec.partition_activations} {}

void LayerCheckpoint::wait() const {
  if (waits_) {
    scope_.step.program().wait_device();
  }
}

void LayerCheckpoint::keep_input() const {
  wait();
  if (partitions_) {
    const Bytes share = scope_.bytes(scope_.sizes.elements()) / static_cast<double>(scope_.plan.spec.tensor);
    scope_.step.op("aten::clone", {kernels::copy_on_device(share)});
  }
}

/// The share goes into zeros, all shares are gathered beside, which one rank does by a copy, and copied back.
void LayerCheckpoint::restore_input() const {
  wait();
  if (!partitions_) {
    return;
  }
  const std::int64_t elements = scope_.sizes.elements();
  const int ranks = scope_.plan.spec.tensor;
  const Bytes whole = scope_.bytes(elements);
  scope_.step.op("aten::zeros", {kernels::fill(elements, scope_.storage())});
  scope_.step.op("aten::copy_", {kernels::copy_on_device(whole / static_cast<double>(ranks))});
  if (ranks > 1) {
    scope_.communicate(CollectiveKind::AllGather, "tp", ranks, whole);
  } else {
    scope_.step.op("c10d::allgather_", {kernels::copy_on_device(whole)});
  }
  scope_.step.op("aten::copy_", {kernels::copy_on_device(whole)});
}

void LayerCheckpoint::end() const {
  wait();
}

}  // namespace lockstep
