#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "ops/memory.hpp"
#include "ops/workload/framework_spec.hpp"
#include "ops/workload/layers/transformer_block.hpp"
#include "ops/workload/precision.hpp"
#include "ops/workload/tensor_sizes.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// Device memory that Hugging Face's GPT-2 and BERT keep from forward for backward, operator by operator as
/// PyTorch's autograd saves it (tools/autograd/derivatives.yaml). Per block, with E = tokens x hidden, F =
/// tokens x feed_forward, S = batch x heads x sequence^2, z bytes an element of products (mixed precision 2,
/// else 4), w of the model (TensorTypes::model()):
///
///   norms         w E each
///   linear        z of the input; autocast: a cast weight each, kept by autocast and by the product
///   attention     z (3 E + E): queries, keys, values, context; unfused also of the scores: softmax w S, mask
///   1 S,
///                 z S what the second product reads (only one of softmax and that without dropout in FP32);
///                 flash 4 batch heads sequence (the logarithms of the sums)
///   dropout       1 E (the mask), after attention and after feed-forward
///   GELU          fused z F; gelu_new 3 w F + z F (the cubed input, tanh, 1 + tanh; x / 2)
///
///   OPT           attention: what is compared with the least number, z S, in place of dropout's; ReLU
///   nothing
///
/// Compiled (torch.compile, CompiledTransformer), what differs: gelu_new z F + w F (its input, tanh); with
/// autocast the scores z S in place of softmax's w S, and BERT's one cast for three projections; attention
/// that became scaled_dot_product_attention as flash; no copies for the loss.
///
/// BERT normalises last: its three projections cast the same input three times with autocast.
/// *Assumes* that views keep nothing beyond their base and that caches of inputs (indices) are negligible.
class TransformerMemory : TensorSizes {
 public:
  TransformerMemory(const TransformerSpec& spec, std::int64_t batch, TensorTypes types,
                    const FrameworkSpec& framework);

  [[nodiscard]] Tensors kept_by_block() const;
  [[nodiscard]] Tensors input_of_block() const;         ///< all that a checkpoint keeps
  [[nodiscard]] Tensors cast_weights_of_block() const;  ///< autocast: from forward until the block's backward

  [[nodiscard]] Tensors kept_by_embeddings() const;
  /// Logits, their log-softmax (but what a compiled graph recomputes) and that in FP32, and what the head's
  /// layers read (a classifier: of a token a sample).
  [[nodiscard]] Tensors kept_by_head() const;
  [[nodiscard]] Tensors cast_weights_of_head() const;
  /// Beside these while the loss is computed forward: its contiguous and FP32 copies; backward: two
  /// gradients.
  [[nodiscard]] Tensors loss_forward() const;
  [[nodiscard]] Tensors loss_backward() const;

 private:
  [[nodiscard]] bool has_fused_attention() const;
  /// The log-softmax of an eager loss under autocast (layers/cross_entropy.hpp).
  [[nodiscard]] bool softmax_is_narrow() const {
    return types_.casts() && !compiles_loss_ && !spec_.is_plain() && !shifts_labels_;
  }
  [[nodiscard]] bool shifts_logits() const { return spec_.judges_next_tokens() && !shifts_labels_; }
  [[nodiscard]] Tensors kept_by_attention() const;
  [[nodiscard]] Tensors kept_by_gelu(std::int64_t elements) const;
  [[nodiscard]] std::int64_t logits() const;         ///< elements
  [[nodiscard]] std::int64_t judged_logits() const;  ///< those that the loss sees

  const TransformerSpec& spec_;
  BlockShape block_;
  bool is_compiled_, compiles_loss_;
  bool keeps_log_softmax_, shifts_labels_;
};

}  // namespace lockstep
