#pragma once

#include <array>
#include <cstdint>

#include "base/parameters.hpp"
#include "ops/kernel.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

enum class AttentionKernels : std::uint8_t {
  Unfused,     ///< products, mask, softmax and dropout as operators of their own
  Flash,       ///< scaled_dot_product_attention with FlashAttention-2
  Flash1,      ///< FlashAttention 1 in Triton (llm-foundry's attn_impl: triton)
  Flash1Cuda,  ///< FlashAttention 1 in CUDA (flash_attn up to 1.0.9: GPT-NeoX's attention_config "flash")
  Flash3,      ///< FlashAttention-3
  CuDnn,       ///< cuDNN's fused attention (Transformer Engine's choice on Hopper, and PyTorch's of 2026)
  Efficient,   ///< scaled_dot_product_attention with xFormers' kernels: FP32, GPUs before A100
};
constexpr auto names_of(AttentionKernels) {
  return std::to_array<EnumName<AttentionKernels>>({{AttentionKernels::Unfused, "unfused"},
                                                    {AttentionKernels::Flash, "flash"},
                                                    {AttentionKernels::Flash1, "flash_1"},
                                                    {AttentionKernels::Flash1Cuda, "flash_1_cuda"},
                                                    {AttentionKernels::Flash3, "flash_3"},
                                                    {AttentionKernels::CuDnn, "cudnn"},
                                                    {AttentionKernels::Efficient, "efficient"}});
}

/// The fused kernel that computes attention; unfused attention has none, and returns FlashAttention-2.
[[nodiscard]] FlashVersion version_of(AttentionKernels kernels);

/// The code whose operators run.
enum class AttentionCode : std::uint8_t {
  Gpt2,  ///< queries, keys and values split from one product; masked with where()
  Bert,  ///< three products; adds the mask of padded tokens
  Opt,  ///< three products, copied into bmm's layout; adds the mask and bounds the sums; no dropout of scores
  Llama,    ///< three products, rotated by others; adds a causal mask
  Decoder,  ///< chunks of one product, scaled_dot_product_attention (nanoGPT's CausalSelfAttention)
  Encoder,  ///< the same without a causal mask
};

/// Plain PyTorch's: views of chunks of one product, always a fused kernel.
[[nodiscard]] constexpr bool is_plain(AttentionCode code) {
  return code == AttentionCode::Decoder || code == AttentionCode::Encoder;
}

/// Multi-head self-attention between the input and the output projection.
struct AttentionShape {
  std::int64_t batch = 0, sequence = 0, heads = 0, head_size = 0;
  AttentionCode code = AttentionCode::Gpt2;
  bool dropout = true;
  AttentionKernels kernels = AttentionKernels::Unfused;
  bool padding_mask = false;    ///< Gpt2: one row of a sample for all heads is added, besides the causal mask
  bool repeated_heads = false;  ///< Llama: keys and values were copied for each head, as bmm reads them

  [[nodiscard]] bool causal() const { return code != AttentionCode::Bert && code != AttentionCode::Encoder; }
  [[nodiscard]] bool drops_scores() const { return dropout && code != AttentionCode::Opt; }
  [[nodiscard]] std::int64_t tokens() const { return batch * sequence * heads * head_size; }  ///< elements
  [[nodiscard]] std::int64_t scores() const { return batch * heads * sequence * sequence; }
};

/// Computes the context from queries, keys and values, all [batch, sequence, heads, head_size]. A
/// batch of more than one makes (OPT: any) bmm's operands contiguous first, because heads and samples are not
/// adjacent.
void attention_forward(StepWriter& step, const AttentionShape& shape);
void attention_backward(StepWriter& step, const AttentionShape& shape);

}  // namespace lockstep
