#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/attention.hpp"
#include "ops/workload/layers/gelu.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

enum class BlockKind : std::uint8_t {
  Gpt,      ///< normalisation first, one product for queries, keys and values (Hugging Face GPT2Block)
  Bert,     ///< normalisation last, three products (Hugging Face BertLayer)
  Opt,      ///< normalisation first, three products, ReLU (Hugging Face OPTDecoderLayer)
  Decoder,  ///< plain PyTorch: as Gpt of nn.Linear and scaled_dot_product_attention (nanoGPT's Block)
  Encoder,  ///< plain PyTorch: as Decoder with normalisation last and no causal mask
};

struct BlockShape {
  BlockKind kind = BlockKind::Gpt;
  std::int64_t batch = 0, sequence = 0, hidden = 0, heads = 0, feed_forward = 0;
  bool dropout = true;
  Gelu gelu = Gelu::Composed;
  AttentionKernels attention = AttentionKernels::Unfused;
  bool attention_mask = false;  ///< GPT-2: of padded tokens, besides the causal one

  [[nodiscard]] bool is_plain() const { return kind == BlockKind::Decoder || kind == BlockKind::Encoder; }
  [[nodiscard]] bool normalises_first() const {
    return kind != BlockKind::Bert && kind != BlockKind::Encoder;
  }
  /// One product for queries, keys and values.
  [[nodiscard]] bool packs_projections() const { return kind == BlockKind::Gpt || is_plain(); }

  [[nodiscard]] std::int64_t rows() const { return batch * sequence; }
  [[nodiscard]] std::int64_t elements() const { return rows() * hidden; }
};

void block_forward(StepWriter& step, const BlockShape& shape);
/// A checkpointed block from its input until all is there that backward reads (torch.utils.checkpoint without
/// re-entrance, set_checkpoint_early_stop): the last sum is not recomputed, without dropout (whose mask
/// is read) neither the last product; a norm at the end is, for its means.
void block_forward_again(StepWriter& step, const BlockShape& shape);
/// @param input_gradient whether anything before the block is trained
void block_backward(StepWriter& step, const BlockShape& shape, GradientSink& gradients, bool input_gradient);

/// Elements of the parameters in their order.
[[nodiscard]] std::vector<std::int64_t> parameters_of(const BlockShape& shape);

/// The sum of a layer's output and the residual stream, which mixed precision keeps in FP32; and what its
/// backward does: a cast of the gradient in mixed precision, else nothing.
void residual_add_forward(StepWriter& step, std::int64_t elements);
void residual_add_backward(StepWriter& step, std::int64_t elements);

}  // namespace lockstep
