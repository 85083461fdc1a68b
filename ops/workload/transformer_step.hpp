#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/memory.hpp"
#include "ops/workload/allocator_calls.hpp"
#include "ops/workload/batch_loader.hpp"
#include "ops/workload/compiled/compiled_transformer.hpp"
#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/training_setup.hpp"
#include "ops/workload/transformer_memory.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// The phases of one transformer training step, in the order of the training loop.
class TransformerStep {
 public:
  TransformerStep(StepWriter& step, const TransformerSpec& spec, const TrainingSetup& setup);

  void write();

  /// Device memory of a rank, in program order.
  [[nodiscard]] const MemoryLedger& memory() const { return ledger_; }

 private:
  void allocate_states();
  void allocate_gradients(std::int64_t elements);
  [[nodiscard]] std::int64_t parameters_of_blocks() const;
  void micro_batch(int index, GradientBuckets& buckets);
  void copy_inputs();
  void forward();
  void embeddings_forward();
  void decoder_mask_forward();
  void head_forward();
  void loss();
  void compiled_forward();
  void compiled_backward(GradientSink& gradients);
  void backward(GradientSink& gradients);
  void head_backward(GradientSink& gradients);
  void embeddings_backward(GradientSink& gradients);
  void unscale(int index);
  void update();

  [[nodiscard]] bool is_training() const { return setup_.phases != Phases::Forward; }
  /// Allocates what lives beyond an operator; activations are freed at once in an evaluation.
  void keep(MemoryUse use, const Tensors& tensors);
  /// Frees what was kept last.
  void free(MemoryUse use, const Tensors& tensors);
  [[nodiscard]] bool is_bert() const { return spec_.family == TransformerFamily::Bert; }
  [[nodiscard]] bool is_opt() const { return spec_.family == TransformerFamily::Opt; }
  /// OPT looks up the position of every token (padding has none), the others once for all samples.
  [[nodiscard]] std::int64_t position_picks() const { return is_opt() ? block_.rows() : spec_.sequence; }
  /// Amp's O2 of Apex: gradients are unscaled into FP32 behind every backward pass, not before the update.
  [[nodiscard]] bool unscales_at_once() const {
    return step_.framework().apex && step_.types().has_master_weights() && setup_.phases == Phases::Step;
  }
  /// GradScaler takes no gradients in 16 bits.
  [[nodiscard]] bool scales_loss() const {
    return setup_.precision == Precision::FP16 && setup_.mixed_precision != MixedPrecision::Pure;
  }

  StepWriter& step_;
  const TransformerSpec& spec_;
  const TrainingSetup& setup_;
  BlockShape block_;
  CrossEntropyShape loss_;
  std::vector<std::int64_t> parameters_;
  TransformerMemory memory_;
  MemoryLedger ledger_;
  AllocatorCalls calls_;
  BatchLoader loader_;
  std::optional<CompiledTransformer> compiled_;  ///< none: eager
  bool first_backward_ = true;                   ///< of the step: gradients come into being
};

}  // namespace lockstep
