#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/parameters.hpp"
#include "ops/workload/layers/t5_block.hpp"

namespace lockstep {

enum class T5FeedForward : std::uint8_t {
  Relu,       ///< T5
  GatedGelu,  ///< T5 1.1: gelu_new of one product times another
};
constexpr auto names_of(T5FeedForward) {
  return std::to_array<EnumName<T5FeedForward>>(
      {{T5FeedForward::Relu, "relu"}, {T5FeedForward::GatedGelu, "gated_gelu"}});
}

/// Experts in place of some layers' feed-forward (Fedus et al., arXiv 2101.03961), one for each token.
struct SwitchExpertsSpec {
  std::int64_t count = 0, capacity = 64;
  std::optional<std::int64_t> chosen;
  std::int64_t encoder_every = 2, decoder_every = 2;
  bool jitter = true;

  template <class Visitor>
  static void describe(Visitor& key, SwitchExpertsSpec& experts) {
    key.required("count", experts.count, "experts of a layer (num_experts)");
    key.optional("capacity", experts.capacity, 64,
                 "tokens of a sample that an expert has room for (expert_capacity); others go on unchanged");
    key.optional("chosen", experts.chosen, std::nullopt,
                 "experts that a layer's tokens are sent to, evenly; all when left out");
    key.optional(
        "encoder_every", experts.encoder_every, 2,
        "2: the second, fourth, ... layer of the encoder has experts (encoder_sparse_step); 0: none");
    key.optional("decoder_every", experts.decoder_every, 2, "likewise of the decoder (decoder_sparse_step)");
    key.optional("jitter", experts.jitter, true,
                 "training multiplies the router's input by noise (router_jitter_noise)");
  }
  void check() const;
  [[nodiscard]] std::int64_t used() const { return chosen.value_or(count); }
};

/// T5 (Raffel et al., arXiv 1910.10683) and Switch Transformers as Hugging Face writes them
/// (T5ForConditionalGeneration, SwitchTransformersForConditionalGeneration), eager.
struct EncoderDecoderSpec {
  std::int64_t layers = 0, hidden = 0, heads = 0, feed_forward = 0, vocabulary = 0, sequence = 0;
  std::optional<std::int64_t> decoder_layers, decoder_sequence, head_size;
  std::int64_t buckets = 32;
  T5FeedForward activation = T5FeedForward::Relu;
  bool tied = true, dropout = true;
  std::optional<SwitchExpertsSpec> experts;
  AttentionKernels cross_attention = AttentionKernels::Flash;
  bool input_on_device = false, blocking_input_copies = true, loss_readback = false;

  template <class Visitor>
  static void describe(Visitor& key, EncoderDecoderSpec& model) {
    key.required("layers", model.layers, "of the encoder");
    key.optional("decoder_layers", model.decoder_layers, std::nullopt, "as many when left out");
    key.required("hidden", model.hidden, "width of the residual streams (d_model)");
    key.required("heads", model.heads, "attention heads");
    key.optional("head_size", model.head_size, std::nullopt, "d_kv; hidden / heads when left out");
    key.required("feed_forward", model.feed_forward, "width between, of an expert too (d_ff)");
    key.required("vocabulary", model.vocabulary, "tokens");
    key.optional("buckets", model.buckets, 32, "of distances (relative_attention_num_buckets)");
    key.required("sequence", model.sequence, "tokens of a sample that the encoder reads");
    key.optional("decoder_sequence", model.decoder_sequence, std::nullopt,
                 "tokens that the decoder writes; as many as the encoder reads when left out");
    key.optional("activation", model.activation, T5FeedForward::Relu,
                 "between the feed-forward products: relu (T5), gated_gelu (T5 1.1, three products)");
    key.optional("tied", model.tied, true,
                 "the output uses the token embedding's weight, and scales what it reads (T5 1.1: false)");
    key.optional("dropout", model.dropout, true, "whether dropout layers do something");
    key.optional("experts", model.experts, std::nullopt, "those of Switch Transformers");
    key.optional("cross_attention", model.cross_attention, AttentionKernels::Flash,
                 "T5 of 'framework: { transformers: v5 }' in 16 bits: the kernel that "
                 "scaled_dot_product_attention takes where no bias of positions is added: flash, or cudnn "
                 "(Hopper, since 2026); in FP32 and TF32 it is xFormers'");
    key.optional("input_on_device", model.input_on_device, false,
                 "tokens are there, as benchmarks have them; else each batch is copied");
    key.optional("blocking_input_copies", model.blocking_input_copies, true,
                 "Tensor.to() without non_blocking, as Hugging Face Accelerate does by default");
    key.optional("loss_readback", model.loss_readback, false,
                 "the loop reads the loss in every step (blocks)");
  }

  /// @throws FieldError for sizes that are not positive or do not fit together
  void check() const;

  [[nodiscard]] std::int64_t layers_of_decoder() const { return decoder_layers.value_or(layers); }
  [[nodiscard]] std::int64_t written_tokens() const { return decoder_sequence.value_or(sequence); }
  [[nodiscard]] T5StackShape encoder(std::int64_t batch) const;
  [[nodiscard]] T5StackShape decoder(std::int64_t batch) const;
  /// Elements of the parameters in the order of the modules.
  [[nodiscard]] std::vector<std::int64_t> parameters() const;
  /// Whether a parameter of so many elements is a matrix: all but norms are.
  [[nodiscard]] bool is_matrix(std::int64_t elements) const { return elements != hidden; }
};

}  // namespace lockstep
