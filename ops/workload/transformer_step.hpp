#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ops/workload/compiled/compiled_transformer.hpp"
#include "ops/workload/hugging_face_step.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/transformer_memory.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// GPT-2, BERT and OPT, Hugging Face's or of plain modules.
class TransformerStep final : public HuggingFaceStep {
 public:
  TransformerStep(StepWriter& step, const TransformerSpec& spec, const TrainingSetup& setup);

 private:
  void copy_inputs() override;
  void forward() override;
  void loss_forward() override;
  void loss_and_model_backward(GradientSink& gradients) override;
  [[nodiscard]] std::vector<ModuleBuffers> buffers() const override;
  [[nodiscard]] bool is_matrix(std::int64_t elements) const override { return spec_.is_matrix(elements); }
  [[nodiscard]] bool reads_loss() const override { return spec_.loss_readback; }

  [[nodiscard]] std::int64_t parameters_of_blocks() const;  ///< trained ones
  [[nodiscard]] bool trains(ModelPart part, std::int64_t layer = 0) const {
    return !setup_.frozen.has(part, layer);
  }
  void layer_backward(std::int64_t layer, GradientSink& gradients);
  void embeddings_forward();
  void opt_positions_forward();
  void masks_forward();
  void decoder_mask_forward();
  [[nodiscard]] LinearShape output() const;  ///< tied to the table of words
  void head_forward();
  /// The model is compiled and the loss is not: model.compile(), and a loss in the script.
  [[nodiscard]] bool has_eager_loss() const { return step_.framework().compiled_loss == CompiledLoss::Eager; }
  void compiled_forward();
  void compiled_backward(GradientSink& gradients);
  /// The layer keeps its input and is recomputed before its backward.
  [[nodiscard]] bool recomputes(std::int64_t layer) const {
    const TransformerPlanSpec& plan = setup_.parallelism.transformer;
    return plan.recompute == Recompute::Full && (layer + 1) % plan.recompute_every == 0 && is_training();
  }
  void checkpointed_backward(GradientSink& gradients, bool input_gradient);
  void sharded_layer(std::int64_t layer, Direction direction, const std::function<void()>& pass);
  [[nodiscard]] std::optional<ModuleHooks> hooks_of_layer() const;
  void head_backward(GradientSink& gradients);
  void embeddings_backward(GradientSink& gradients);

  /// Hugging Face's, with segments, a norm of the embeddings and a dense layer before the output.
  [[nodiscard]] bool is_bert() const { return block_.kind == BlockKind::Bert; }
  [[nodiscard]] bool is_opt() const { return spec_.family == TransformerFamily::Opt; }
  /// OPT looks up the position of every token (padding has none), the others once for all samples.
  [[nodiscard]] std::int64_t position_picks() const { return is_opt() ? block_.rows() : spec_.sequence; }

  const TransformerSpec& spec_;
  std::int64_t lowest_ = 0;  ///< layer that backward comes to last; layers: none
  BlockShape block_;
  CrossEntropyShape loss_;
  TransformerMemory memory_;
  std::optional<CompiledTransformer> compiled_;  ///< none: eager
};

}  // namespace lockstep
