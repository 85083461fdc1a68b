#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/parameters.hpp"
#include "ops/workload/layers/xlnet_layer.hpp"

namespace lockstep {

/// XLNet (Yang et al., arXiv 1906.08237) as Hugging Face writes it (XLNetLMHeadModel), eager, without
/// permutations (perm_mask, target_mapping) and without the states of an earlier text (mems): every token
/// sees every other one, and what each is is told from its own state. So fine-tuning runs its layers.
struct XlnetSpec {
  std::int64_t layers = 0, hidden = 0, heads = 0, vocabulary = 0, sequence = 0;
  std::optional<std::int64_t> feed_forward;
  bool segments = true, attention_mask = true, dropout = true;
  bool input_on_device = false, blocking_input_copies = true, loss_readback = false;

  template <class Visitor>
  static void describe(Visitor& key, XlnetSpec& model) {
    key.required("layers", model.layers, "of attention and feed-forward (n_layer)");
    key.required("hidden", model.hidden, "width of the residual stream (d_model)");
    key.required("heads", model.heads, "attention heads (n_head)");
    key.optional("feed_forward", model.feed_forward, std::nullopt,
                 "width between (d_inner); 4 x hidden when left out");
    key.required("vocabulary", model.vocabulary, "tokens");
    key.required("sequence", model.sequence, "tokens of a sample");
    key.optional("segments", model.segments, true,
                 "token_type_ids are given, so that scores have a term of segments");
    key.optional(
        "attention_mask", model.attention_mask, true,
        "which tokens are padding is given, as tokenizers of Hugging Face give it; without it no mask "
        "is made");
    key.optional("dropout", model.dropout, true, "whether dropout layers do something");
    key.optional("input_on_device", model.input_on_device, false,
                 "tokens are there, as benchmarks have them; else each batch is copied");
    key.optional("blocking_input_copies", model.blocking_input_copies, true,
                 "Tensor.to() without non_blocking, as Hugging Face Accelerate does by default");
    key.optional("loss_readback", model.loss_readback, false,
                 "the loop reads the loss in every step (blocks)");
  }

  /// @throws FieldError for sizes that are not positive or do not fit together
  void check() const;

  [[nodiscard]] std::int64_t feed_forward_width() const { return feed_forward.value_or(4 * hidden); }
  [[nodiscard]] XlnetLayerShape layer(std::int64_t batch) const;
  /// Elements of the parameters in the order of the modules, without those that get no gradient: mask_emb (1
  /// x 1 x hidden, there is no target_mapping), and those of segments where these are not given.
  /// DistributedDataParallel wants them frozen, or find_unused_parameters, whose search is not counted.
  [[nodiscard]] std::vector<std::int64_t> parameters() const;
  /// Whether a parameter of so many elements is a matrix, not a bias or of a norm.
  [[nodiscard]] bool is_matrix(std::int64_t elements) const {
    return elements != hidden && elements != feed_forward_width() && elements != vocabulary;
  }
};

}  // namespace lockstep
