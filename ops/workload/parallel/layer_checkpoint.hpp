#pragma once

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Writes what DeepSpeed's checkpoint of a layer does besides computing it, where the plan says so. The host
/// waits for the GPU (`recompute_synchronize`).
/// The layer's input is kept as shares of the tensor-parallel ranks
/// (`partition_activations`), with one rank too. What the checkpoint's own Python takes is not written.
/// *Source*: deepspeed/runtime/activation_checkpointing/checkpointing.py, CheckpointFunction,
/// get_full_inputs().
class LayerCheckpoint {
 public:
  /// @param recompute of the layer: only whole layers are checkpointed
  LayerCheckpoint(const LayerScope& scope, Recompute recompute);

  /// Before the layer's forward pass.
  void keep_input() const;
  /// Before it is recomputed.
  void restore_input() const;
  /// Behind either pass.
  void end() const;

 private:
  void wait() const;

  const LayerScope& scope_;
  bool waits_, partitions_;
};

}  // namespace lockstep
