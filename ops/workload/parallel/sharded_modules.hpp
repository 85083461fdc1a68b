#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/parallel/layer_scope.hpp"
#include "ops/workload/parallel/module_hooks.hpp"
#include "ops/workload/parallel/parameter_gather.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// ZeRO and FSDP round GPT-2, BERT and OPT of Hugging Face, or of plain modules: gradients are reduced and
/// parameters gathered and updated as for `hugging_face_llama`, which gives that part its source
/// (GradientReduction, ParameterGather, ParameterUpdate). zero3's units are the layers, as FSDP wraps them
/// and DeepSpeed fetches them ahead, and all that is in none of them: tables, positions, norms, heads.
class ShardedModules {
 public:
  /// @param memory of the GPU
  ShardedModules(StepWriter& step, const TransformerSpec& model, const TrainingSetup& setup,
                 MemoryLedger& memory);
  ShardedModules(const ShardedModules&) = delete;
  ShardedModules& operator=(const ShardedModules&) = delete;

  void allocate_states();

  /// Round the passes of a micro-batch.
  void begin_forward();
  void begin_backward(int micro_batch);
  void end_backward(int micro_batch);

  /// Round each layer's: its parameters are gathered before, dropped behind.
  void begin_layer(std::int64_t layer, Direction direction);
  void end_layer(std::int64_t layer, Direction direction);
  /// Behind the head's backward, before that of the layers.
  void head_done() { gradients_.put_off(); }

  /// The receiver of a parameter's gradient.
  [[nodiscard]] GradientReduction& gradients() { return gradients_; }
  /// The scope that a layer's modules run in.
  [[nodiscard]] const LayerScope& scope() const { return scope_; }

  void update();

 private:
  [[nodiscard]] std::vector<GatherUnit> units() const;
  void plan(Direction direction);
  [[nodiscard]] bool drops(int micro_batch) const;

  const TransformerSpec& model_;
  const TrainingSetup& setup_;
  std::vector<std::int64_t> parameters_;
  std::int64_t all_, of_layer_;  // elements
  ParallelPlan plan_;
  MemoryLedger host_memory_;  // nothing: there is no offload
  HostOptimizer host_;
  GradientReduction gradients_;
  LayerScope scope_;
  ParameterGather gather_;
  bool keeps_ = false;  // what was gathered, behind this backward pass
};

/// @throws std::invalid_argument where the plan of a model in modules shares something, with what else it
/// needs
void check_sharded_modules(const TrainingSetup& setup);

}  // namespace lockstep
