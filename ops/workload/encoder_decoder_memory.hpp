#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "ops/memory.hpp"
#include "ops/workload/encoder_decoder_spec.hpp"
#include "ops/workload/precision.hpp"
#include "ops/workload/tensor_sizes.hpp"

namespace lockstep {

/// Device memory that Hugging Face's T5 and Switch Transformers keep from forward for backward, operator by
/// operator as PyTorch's autograd saves it (tools/autograd/derivatives.yaml). With N = tokens x hidden, F =
/// tokens x feed_forward, q and k = tokens of queries and keys x heads x head_size, S = batch x heads x
/// queries x keys, z bytes an element of products (mixed precision 2, else 4), w of the model
/// (TensorTypes::model()):
///
///   norm           w N each of its input and of what its weight multiplies (16 bits: 4 N of the cast too)
///   projections    z N of the input; z q, k, k of the results; a decoder keeps k, k as they are also for
///                  generation (use_cache), where several samples made bmm copy them
///   scores         softmax 4 S, mask 1 S, z S what the second product reads (only one of softmax and that
///                  without dropout in FP32), z q of the result, mask 1 N
///   feed-forward   z N, ReLU z F, mask 1 F, z F what the second product reads (without dropout the same as
///                  ReLU's); gated: gelu_new 3 w F + z F, its result w F, the other factor z F; mask 1 N
///   experts        noise 4 N, the sum's w N, scores of the router 4 tokens x count twice; then feed-forward
///                  of the tokens that each multiplies
///   a stack        bias of positions w S each (cross-attention's too), mask 1 N of its first dropout; its
///                  last norm, mask 1 N
///   head           w N scaled, z logits, their log-softmax in FP32
///   autocast       casts of inputs (once for each of three products) and of weights
///
/// *Assumes* that a bias of positions lives until backward of its stack, which it does until the stack's
/// forward ends; that views keep nothing beyond their base and that indices and masks of tokens are
/// negligible.
class EncoderDecoderMemory : TensorSizes {
 public:
  EncoderDecoderMemory(const EncoderDecoderSpec& spec, std::int64_t batch, TensorTypes types);

  /// Tensors that every layer of a stack uses, and those from before its first layer.
  [[nodiscard]] Tensors kept_by_stack(const T5StackShape& stack) const;
  [[nodiscard]] Tensors kept_by_layer(const T5StackShape& stack, std::int64_t layer) const;
  [[nodiscard]] Tensors cast_weights_of_layer(const T5StackShape& stack, std::int64_t layer) const;
  [[nodiscard]] Tensors kept_behind_stack(const T5StackShape& stack) const;
  /// Keys and values that an evaluation's decoder layer returns (use_cache).
  [[nodiscard]] Tensors cached_by_layer(const T5StackShape& decoder) const;

  [[nodiscard]] Tensors kept_by_head() const;
  [[nodiscard]] Tensors cast_weights_of_head() const;
  /// Beside these while the loss is computed: its FP32 copy; two gradients.
  [[nodiscard]] Tensors loss_forward() const;
  [[nodiscard]] Tensors loss_backward() const;

 private:
  void keep_norm(Tensors& kept, std::int64_t elements) const;
  void keep_attention(Tensors& kept, const T5AttentionShape& shape, bool is_cached) const;
  void keep_feed_forward(Tensors& kept, const T5FeedForwardShape& shape) const;
  void keep_experts(Tensors& kept, const SwitchExpertsShape& shape) const;
  [[nodiscard]] std::int64_t logits() const;

  const EncoderDecoderSpec& spec_;
  std::int64_t batch_;
};

}  // namespace lockstep
