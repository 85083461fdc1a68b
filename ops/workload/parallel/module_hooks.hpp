#pragma once

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Hooks that DeepSpeed's ZeRO-3 runs in Python round each module of a layer. They fetch and release its
/// parameters, before and behind a forward pass, and so for backward (runtime/zero/parameter_offload.py,
/// _register_deepspeed_module; partitioned_parameter_coordinator.py, fetch_sub_module, release_sub_module).
/// The constructor writes those before, the destructor those behind.
///
///   time of the host = modules x kHook x T1 between operators, each
///
/// The GPU does not notice as long as it has enough to do: short sequences and small models wait.
///
/// *Source of kHook*: steps with checkpoints that are no longer for 512 tokens than for 256, on A100 80 GB,
/// of Qwen's README (github.com/QwenLM/Qwen, 03cd81f): all parameters of 1.8B on one GPU and of 7B on two,
/// and LoRA of 72B on four, which take 2.14, 2.98 and 18.1 s with it and T1 = 5 us, measured 2.1, 4.0
/// and 17.6. *Assumes* that all modules' hooks take as long, and that they scale with the host's other
/// Python.
class ModuleHooks {
 public:
  static constexpr double kHook = 20;
  static constexpr double kError = 0.4;  ///< half of the band: what the 7B's hooks alone are short by

  explicit ModuleHooks(const LayerScope& scope) : scope_{scope} { write(); }
  ~ModuleHooks() { write(); }
  ModuleHooks(const ModuleHooks&) = delete;
  ModuleHooks& operator=(const ModuleHooks&) = delete;

  /// Modules of a layer that are called, itself among them; of experts none are counted.
  [[nodiscard]] static int modules_of_layer(const TransformerSpec& model);

 private:
  void write();

  const LayerScope& scope_;
};

/// The name of this work.
inline constexpr const char* kModuleHooks = "ZeRO-3 module hooks";

}  // namespace lockstep
