#pragma once

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Copies and sums of a rank's own tokens around the exchange of an expert-parallel group. A token has a copy
/// for every expert it goes to, in the order of experts. The copies' results are summed, each times the
/// router's probability.
///
/// Fused (`fused_permutation`), a kernel reads a token once and writes its copies, or reads copies and writes
/// their sum. Else PyTorch's operators do it: index_select, a product with the probabilities, zeros and
/// scatter_add, whose additions in memory are taken for a read and a write each. With `weighted_activation`
/// probabilities are picked with the copies, and what experts made is summed as it is.
/// @param copies elements of all copies of a rank's tokens (fewer or more than per_token times the tokens
///        where experts have a capacity)
/// *Source*: Megatron-LM core/transformer/moe/moe_utils.py (permute, unpermute, --moe-permute-fusion);
/// Transformer Engine pytorch/triton/permutation.py
void permute_forward(const LayerScope& scope, double copies);
void permute_backward(const LayerScope& scope, double copies);
void unpermute_forward(const LayerScope& scope, double copies);

/// Makes the gradients of the probabilities besides the experts', and reads for it what the experts made;
/// with `weighted_activation` copies of the tokens' gradients alone.
void unpermute_backward(const LayerScope& scope, double copies);

}  // namespace lockstep
