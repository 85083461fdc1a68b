#pragma once

/// @file
/// Rotation of queries and keys by their positions (Su et al., arXiv 2104.09864), as Megatron-LM and Hugging
/// Face write it: x cos + rotate_half(x) sin.

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// The rotary embedding of Megatron's models. A kernel each for queries and keys (Transformer Engine's
/// fused_rope), or PyTorch's operators (`fused_rotary: false`; core/models/common/embeddings/rope_utils.py):
/// the part that is rotated (`rotary_share`), then a concatenation with the rest.
void megatron_rotary(const LayerScope& scope, Direction direction);

/// Hugging Face's rotary embedding of a tensor of @p width a token (apply_rotary_pos_emb). Heads are
/// transposed views, so most kernels are not vectorised. Backward of each slice fills a tensor with zeros and
/// copies into it; the gradient is copied into the order of tokens at the end.
void hugging_face_rotary(const LayerScope& scope, std::int64_t width, Direction direction);

/// Cosines and sines of all positions, once a pass of the model (LlamaRotaryEmbedding.forward, since 4.45).
void hugging_face_rotary_tables(const LayerScope& scope);

}  // namespace lockstep
