#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/memory_ledger.hpp"
#include "ops/workload/allocator_calls.hpp"
#include "ops/workload/batch_loader.hpp"
#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/module_buffers.hpp"
#include "ops/workload/parallel/sharded_modules.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// Elements of a model's parameters.
struct ModelParameters {
  std::vector<std::int64_t> trained;  ///< of each, in the order of the modules
  std::int64_t frozen = 0;            ///< of the others together
};

/// A training step of any of Hugging Face's models, in the order of the training loop: data parallel, with
/// gradient accumulation, mixed precision and any optimizer, or sharded. What runs between is the model's.
class HuggingFaceStep {
 public:
  virtual ~HuggingFaceStep() = default;
  HuggingFaceStep(const HuggingFaceStep&) = delete;
  HuggingFaceStep& operator=(const HuggingFaceStep&) = delete;

  void write();

  /// Device memory of a rank, in program order.
  [[nodiscard]] const MemoryLedger& memory() const { return ledger_; }

 protected:
  /// @param batch samples of a micro-batch on one rank
  HuggingFaceStep(StepWriter& step, const TrainingSetup& setup, std::int64_t batch,
                  ModelParameters parameters);

  virtual void copy_inputs() = 0;
  virtual void forward() = 0;
  virtual void loss_forward() = 0;
  virtual void loss_and_model_backward(GradientSink& gradients) = 0;
  [[nodiscard]] virtual std::vector<ModuleBuffers> buffers() const = 0;
  /// Whether a parameter of so many elements is a matrix: optimizers treat others apart.
  [[nodiscard]] virtual bool is_matrix(std::int64_t elements) const = 0;
  /// The loop reads the loss in every step.
  [[nodiscard]] virtual bool reads_loss() const = 0;

  [[nodiscard]] bool is_training() const { return setup_.phases != Phases::Forward; }
  [[nodiscard]] std::int64_t trained_parameters() const;  ///< elements
  /// Gradients that come into being: those of the step's first backward pass.
  void allocate_gradients(std::int64_t elements);
  /// Allocates what lives beyond an operator; activations are freed at once in an evaluation.
  void keep(MemoryUse use, const Tensors& tensors);
  /// Frees what was kept last.
  void free(MemoryUse use, const Tensors& tensors);

  StepWriter& step_;
  const TrainingSetup& setup_;
  MemoryLedger ledger_;
  AllocatorCalls calls_;
  BatchLoader loader_;
  std::optional<ShardedModules> sharded_;  ///< of a model whose plan shares something

 private:
  void allocate_states();
  void micro_batch(int index);
  void loss();
  void backward(GradientSink& gradients);
  void sharded_backward(int index);
  void unscale(int index);
  void update();

  /// Amp's O2 of Apex: gradients are unscaled into FP32 behind every backward pass, not before the update.
  [[nodiscard]] bool unscales_at_once() const {
    return step_.framework().apex && step_.types().has_master_weights() && setup_.phases == Phases::Step;
  }
  /// GradScaler takes no gradients in 16 bits.
  [[nodiscard]] bool scales_loss() const {
    return setup_.precision == Precision::FP16 && setup_.mixed_precision != MixedPrecision::Pure;
  }

  std::vector<std::int64_t> parameters_;  ///< trained ones
  std::int64_t frozen_parameters_;        ///< elements
  bool first_backward_ = true;            ///< of the step: gradients come into being
};

/// @throws std::invalid_argument for what none of Hugging Face's models is run with here: other plans than
///   data parallelism, FP8, 16 bits that do not fit together, a batch that does not divide
/// @param is_in_layers the model's layers may be recomputed (`recompute: full`), eager, and sharded
void check_hugging_face(const TrainingSetup& setup, bool is_in_layers = false);

/// Samples of a micro-batch on one rank.
[[nodiscard]] std::int64_t local_batch(const TrainingSetup& setup);

}  // namespace lockstep
