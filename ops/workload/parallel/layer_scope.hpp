#pragma once

#include <cstdint>
#include <optional>

#include "ops/memory_ledger.hpp"
#include "ops/workload/parallel/gradient_reduction.hpp"
#include "ops/workload/parallel/parallel_plan.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// The gradients that a backward pass computes: both, or one after the other (zero bubble). Activations that
/// were not kept are recomputed with the inputs' gradients.
struct BackwardParts {
  bool inputs = true;
  bool weights = true;
  Recompute recompute = Recompute::None;
};

/// One rank's part of a layer. Tokens are those of a micro-batch and of the rank's piece of the sequence;
/// rows are the tokens outside of products, which sequence-parallel ranks share.
struct LayerSizes {
  std::int64_t tokens = 0, rows = 0, hidden = 0;
  std::int64_t batch = 0, queries = 0, sequence = 0;  ///< samples; tokens of one here and in all
  std::int64_t heads = 0, kv_heads = 0, head_size = 0;
  std::int64_t feed_forward = 0;

  [[nodiscard]] std::int64_t query_width() const { return heads * head_size; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * head_size; }
  [[nodiscard]] std::int64_t elements() const { return rows * hidden; }  ///< of the residual stream
};

[[nodiscard]] LayerSizes layer_sizes(const TransformerSpec& model, const ParallelPlan& plan);

/// Elements of the residual stream in what one rank sends to the next stage.
[[nodiscard]] std::int64_t message_elements(const ParallelPlan& plan, const LayerSizes& sizes);

/// Everything that the layers of a Megatron-like model write with.
struct LayerScope {
  StepWriter& step;
  const TransformerSpec& model;
  const ParallelPlan& plan;
  GradientReduction& gradients;
  MemoryLedger& memory;
  LayerSizes sizes;

  /// The type of products (those that FP8 leaves in 16 bits), then of activations and parameters.
  [[nodiscard]] DataType type() const { return product_type(step.precision()); }
  [[nodiscard]] DataType storage() const { return storage_type(step.precision()); }
  [[nodiscard]] Bytes bytes(std::int64_t elements) const {
    return static_cast<double>(elements) * size_of(storage());
  }
  /// Starts a collective of @p size over the @p ranks of a group; nothing for one rank alone.
  /// @param sm_limit as in CollectiveCall
  [[nodiscard]] EventId start(CollectiveKind kind, std::string_view group, Bytes size,
                              int sm_limit = std::numeric_limits<int>::max()) const;
  /// The same, and the compute stream waits for its end.
  void communicate(CollectiveKind kind, std::string_view group, int ranks, Bytes size) const;
};

/// Between products every operation is a kernel of its own, copies included (nanotron).
[[nodiscard]] inline bool is_eager(const LayerScope& scope) {
  return scope.model.implementation == Implementation::Nanotron;
}

[[nodiscard]] inline bool is_hugging_face_llama(const LayerScope& scope) {
  return scope.model.implementation == Implementation::HuggingFaceLlama;
}

/// Weights are frozen, adapters beside some of their products trained (lora_adapter.hpp).
[[nodiscard]] inline bool is_frozen(const LayerScope& scope) {
  return scope.model.lora.has_value();
}

/// Llama in PyTorch's operators: as torchtitan trains Meta's or Hugging Face wrote it, in eager kernels
/// (eager_llama.hpp), or torchtitan's blocks behind torch.compile (compiled_llama.hpp).
[[nodiscard]] inline bool is_llama(const LayerScope& scope) {
  return scope.model.is_in_torch_operators();
}

[[nodiscard]] inline bool is_compiled(const LayerScope& scope) {
  return is_llama(scope) && scope.step.framework().compile != Compile::None;
}

/// Every product is tensor parallel by itself, as PyTorch's DTensor has it.
[[nodiscard]] inline bool is_by_product(const LayerScope& scope) {
  return scope.plan.spec.tensor_layers == TensorLayers::DTensor;
}

/// Normalisation of the residual stream, and its backward. The gradient of what was normalised is added to
/// that of the residual stream.
void norm_forward(const LayerScope& scope, std::int64_t rows, std::int64_t columns);
void norm_backward(const LayerScope& scope, std::int64_t rows, std::int64_t columns, BackwardParts parts);
/// Backward of a fused norm that only a product reads, or attention: nothing is added.
void inner_norm_backward(const LayerScope& scope, std::int64_t rows, std::int64_t columns,
                         BackwardParts parts);

/// Adds the gradient that a product gives its input to those of others (`tensor_layers: dtensor`).
void add_input_gradient(const LayerScope& scope, bool has_others);

/// The norm of a feed-forward layer. One without its own reads what attention's left, and leaves its input's
/// gradient for attention's to be added to.
void feed_forward_norm_forward(const LayerScope& scope);
void feed_forward_norm_backward(const LayerScope& scope, BackwardParts parts);

/// The layer whose output is meant.
enum class Branch : std::uint8_t { Attention, FeedForward };

/// Attention and feed-forward layer read the same, and tensor-parallel ranks sum what both add.
[[nodiscard]] inline bool is_side_by_side(const LayerScope& scope) {
  return scope.model.residual != Residual::Serial;
}

/// Dropout of a layer's output and the sum with the residual stream: one kernel (bias_dropout_add_fused).
/// Side by side: attention's output waits for the other's, to which it is added; then the sum over ranks and
/// the one with the residual stream (GPT-NeoX, megatron/model/transformer.py, gpt_j_residual).
void residual_forward(const LayerScope& scope, Branch branch);
void residual_backward(const LayerScope& scope, BackwardParts parts);

/// A layer's self-attention between its normalisation and the residual stream.
void attention_forward(const LayerScope& scope);
void attention_backward(const LayerScope& scope, BackwardParts parts);
/// Runs what full or selective recomputation runs again before backward.
void attention_core_forward(const LayerScope& scope);
/// Flash attention of a rank's queries, with the keys and values of its context-parallel group.
void flash_attention_core(const LayerScope& scope, Direction direction);

/// Feed-forward of @p width a rank (its share already); gated with two products in.
void feed_forward_forward(const LayerScope& scope, std::int64_t width);
/// The same without the last product.
void feed_forward_again(const LayerScope& scope, std::int64_t width);
void feed_forward_backward(const LayerScope& scope, std::int64_t width, BackwardParts parts);

/// The kernel between feed-forward products, of that many elements, and its operator.
[[nodiscard]] KernelCall activation_kernel(const LayerScope& scope, std::int64_t elements,
                                           Direction direction);
[[nodiscard]] const char* activation_operator(const LayerScope& scope, Direction direction);

/// Router, dispatch, experts, combination; shared experts besides.
/// @param layer of the model: its experts have loads of their own (ExpertLoads)
/// @param differentiated not within a checkpoint, which has no gradients and no loss of uneven loads
void experts_forward(const LayerScope& scope, std::int64_t layer, bool differentiated);
void experts_backward(const LayerScope& scope, std::int64_t layer, BackwardParts parts);
/// Tokens that come to the ranks of the expert group where most come, all experts of a rank together.
[[nodiscard]] std::int64_t tokens_of_fullest_rank(const LayerScope& scope, std::int64_t layer);
/// Elements of all copies of a rank's tokens.
[[nodiscard]] double elements_sent(const LayerScope& scope, std::int64_t layer);

/// Bytes of unfused attention: softmax of the scores, and with dropout its mask and result.
[[nodiscard]] Bytes kept_scores(const LayerScope& scope);

/// Bytes that the forward pass of a layer keeps for its backward (Korthikanti et al., arXiv 2205.05198,
/// equations 1 to 4 and 6, and for what they have not in the same way); where experts' loads are uneven, of
/// the fullest rank of the layer. @param expert_layer the layer's number when it has experts
[[nodiscard]] Bytes kept_by_layer(const LayerScope& scope, std::optional<std::int64_t> expert_layer,
                                  Recompute recompute);

/// Elements of a rank's parameters of a layer that are trained, in the order of the modules: dense ones and
/// experts'.
struct LayerParameters {
  std::vector<std::int64_t> dense, expert;
  std::int64_t frozen = 0;         ///< those that are not trained, which are in neither
  std::int64_t linear = 0;         ///< those of products that FP8 computes
  std::int64_t linear_layers = 0;  ///< how many products these are
};
/// Adds the gain of a norm of @p columns, and the bias of one that has it.
void add_norm(const TransformerSpec& model, std::int64_t columns, std::vector<std::int64_t>& all);

[[nodiscard]] LayerParameters parameters_of_layer(const TransformerSpec& model, const ParallelPlan& plan,
                                                  bool has_experts);

}  // namespace lockstep
