#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Updates a rank's share of the parameters at the end of a step, with the gradients reduced for it.
/// Megatron-LM, DeepSpeed and PyTorch's FSDP do so each in its way.
class ParameterUpdate {
 public:
  /// Elements of the tensors that are updated, of which a rank has a share, and their type.
  struct Trained {
    const std::vector<std::int64_t>& parameters;
    DataType type;
    bool by_torch = false;  ///< torch.optim's AdamW: each tensor's share; else a fused kernel on flat ones
  };

  /// @param clips gradients, by their norm
  ParameterUpdate(const LayerScope& scope, bool clips) : scope_{scope}, clips_{clips} {}

  /// Makes gradients those of the optimizer.
  /// @param pieces tensors that they are of
  /// @return memory for them in FP32, until the update is over
  [[nodiscard]] Bytes prepare_gradients(std::int64_t elements, std::int64_t pieces) const;

  /// @param elements this rank's
  /// @param narrow elements whose 16-bit parameters are written too: no gather casts them later
  void on_gpu(const Trained& trained, std::int64_t elements, std::int64_t narrow) const;

  /// zero1, zero2: every rank gathers all @p parameters.
  void share(Bytes parameters, bool expert) const;

 private:
  [[nodiscard]] bool is_on_host() const { return scope_.plan.spec.offload != Offload::None; }
  void read_of_replica() const;
  [[nodiscard]] Bytes widen(std::int64_t elements, std::int64_t pieces) const;
  void unscale(std::int64_t elements) const;
  void clip(std::int64_t elements) const;
  [[nodiscard]] Bytes deepspeed_gradients(std::int64_t elements, std::int64_t pieces) const;
  void fused_update(std::int64_t elements) const;

  const LayerScope& scope_;
  bool clips_;
};

}  // namespace lockstep
