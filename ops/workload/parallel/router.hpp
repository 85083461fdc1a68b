#pragma once

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Chooses the experts of each token as Megatron-LM's TopKRouter does: scores of all experts, those
/// of the best `per_token`, their softmax; probabilities and a map [tokens, experts]. Where experts are
/// padded, each takes the tokens that want it most, as many as it has room for: a selection along the tokens.
/// The loss of uneven loads (`auxiliary_loss`) reads a softmax over all experts and counts the tokens of the
/// ranks that share a sequence.
///
/// `fused_router` is Transformer Engine's kernel a pass, and one for the loss; else each of PyTorch's
/// operators has its kernels, some twenty-five forward and fifteen backward, whose number costs more than
/// what they read. *Source*: Megatron-LM core/transformer/moe/router.py, moe_utils.py
/// (topk_softmax_with_capacity, switch_load_balancing_loss_func), core 0.8 to 0.12; Transformer Engine
/// pytorch/router.py. *Assumes* softmax as the score; sigmoid, biases of experts and groups of them
/// (DeepSeek-V3) are not written.
/// @param differentiated else there is no loss (a checkpoint)
void router_forward(const LayerScope& scope, bool differentiated);

/// The gradient of what the router read is added to that of what the experts read.
void router_backward(const LayerScope& scope, BackwardParts parts);

}  // namespace lockstep
