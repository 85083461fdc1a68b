#pragma once

/// @file
/// What a module of torchtitan's Llama (attention, feed-forward layer) communicates with `tensor` above 1:
/// its input is gathered once for all its products (PrepareModuleInput: Shard(1) to Replicate), columns, then
/// rows of weights are shared (ColwiseParallel, RowwiseParallel), and sums are scattered to the shares of
/// tokens that norms and residual stream have (SequenceParallel). *Source*: torchtitan/parallelisms/
/// parallelize_llama.py of December 2024, apply_tp. Nothing for one rank.

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Shares of rows x hidden elements to tokens x hidden, or gradients likewise. @param type that travels
void gather_tokens(const LayerScope& scope, DataType type);
/// tokens x hidden elements, which ranks have parts of, to summed shares of rows x hidden.
void scatter_sums(const LayerScope& scope);
/// The gradient of a norm's gain, whose tokens are shared (fully_shard redistributes a DTensor's gradient as
/// its parameter is: torch/distributed/fsdp/_fully_shard/_fsdp_param.py).
void sum_gain_gradient(const LayerScope& scope, std::int64_t columns);

}  // namespace lockstep
