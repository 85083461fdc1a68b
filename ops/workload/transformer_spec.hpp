#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/parameters.hpp"
#include "ops/workload/layers/attention.hpp"
#include "ops/workload/layers/gelu.hpp"
#include "ops/workload/layers/transformer_block.hpp"

namespace lockstep {

enum class TransformerFamily : std::uint8_t {
  Gpt,   ///< decoder: causal, next-token loss (Hugging Face GPT2LMHeadModel)
  Bert,  ///< encoder: masked-token loss (Hugging Face BertForMaskedLM)
};
constexpr auto names_of(TransformerFamily) {
  return std::to_array<EnumName<TransformerFamily>>(
      {{TransformerFamily::Gpt, "gpt"}, {TransformerFamily::Bert, "bert"}});
}

/// A GPT (Radford et al. 2019) or BERT (Devlin et al., arXiv 1810.04805), its weights tied between the token
/// embedding and the output, trained with AdamW.
struct TransformerSpec {
  TransformerFamily family = TransformerFamily::Gpt;
  std::int64_t layers = 0, hidden = 0, heads = 0, vocabulary = 0, positions = 0, sequence = 0;
  std::optional<std::int64_t> feed_forward;
  std::int64_t token_types = 0;
  Gelu gelu = Gelu::Fused;
  AttentionKernels attention = AttentionKernels::Unfused;
  bool dropout = true;
  bool blocking_input_copies = true;
  bool loss_readback = false;

  template <class Visitor>
  static void describe(Visitor& key, TransformerSpec& model) {
    key.required("family", model.family, "gpt (decoder) or bert (encoder)");
    key.required("layers", model.layers, "transformer blocks");
    key.required("hidden", model.hidden, "width of the residual stream");
    key.required("heads", model.heads, "attention heads");
    key.optional("feed_forward", model.feed_forward, std::nullopt, "width between; 4 x hidden when left out");
    key.required("vocabulary", model.vocabulary, "tokens");
    key.required("positions", model.positions, "longest sequence");
    key.required("sequence", model.sequence, "tokens of a sample");
    key.optional("token_types", model.token_types, 0, "rows of BERT's segment embedding");
    key.optional("gelu", model.gelu, Gelu::Fused, "one kernel, or Hugging Face's gelu_new");
    key.optional("attention", model.attention, AttentionKernels::Unfused, "operators of attention");
    key.optional("dropout", model.dropout, true, "whether dropout layers do something");
    key.optional("blocking_input_copies", model.blocking_input_copies, true,
                 "Tensor.to() without non_blocking, as Hugging Face Accelerate does by default");
    key.optional("loss_readback", model.loss_readback, false,
                 "the loop reads the loss in every step (blocks)");
  }

  /// @throws FieldError for sizes that are not positive or do not fit together
  void check() const;

  [[nodiscard]] BlockShape block(std::int64_t batch) const;

  /// Elements of the parameters in the order of the modules.
  [[nodiscard]] std::vector<std::int64_t> parameters() const;
};

}  // namespace lockstep
