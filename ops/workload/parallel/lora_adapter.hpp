#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/parallel/sharded_linear.hpp"

namespace lockstep {

/// The side of a product that tensor-parallel ranks share: its outputs (column) or its inputs (row).
enum class SharedSide : std::uint8_t { Outputs, Inputs };

/// The adapter beside a product, s (x A) B added to x W: A [in, rank], B [rank, out], in 16 bits with FP8
/// too. Nothing where `shape.rank` is 0.
///
/// Tensor parallelism as NeMo and Megatron-Bridge have it (ParallelLinearAdapter): where outputs are shared,
/// each rank makes some of A's columns, which are gathered, and B's of its outputs; where inputs are, A's
/// results are summed over the ranks, each makes some of B's columns, which are gathered. Hugging Face's PEFT
/// (tuners/lora/layer.py, Linear) keeps adapters in FP32: what A reads is cast to that and, under autocast,
/// back; but for FSDP's mixed precision (`zero3_implementation: fsdp`, `fsdp2`), which gathers them in 16
/// bits, for DeepSpeed, and where all is in 16 bits, so that layer.py's _cast_input_dtype() finds nothing to
/// do.
///
/// Backward: the gradient times s, B's and A's products and their weights', and the input's gradient added to
/// that of the product beside. *Assumes* that the product of the first layer gives its input a gradient as
/// all others do (with checkpoints, enable_input_require_grads(), it does; else autograd leaves it out).
/// *Source*: Hu et al., arXiv 2106.09685, section 4.1.
void adapter_forward(const LayerScope& scope, const ShardedLinear& shape, SharedSide side);
void adapter_input_gradient(const LayerScope& scope, const ShardedLinear& shape, SharedSide side);
void adapter_weight_gradient(const LayerScope& scope, const ShardedLinear& shape, SharedSide side);

/// PEFT's since 0.11 (tuners/tuners_utils.py, autocast_adapter_dtype), but for models that DeepSpeed puts
/// into 16 bits whole (runtime/engine.py, _configure_distributed_model) and `mixed_precision: pure`.
[[nodiscard]] bool has_fp32_adapters(const LayerScope& scope);

/// Elements of a rank's A and B.
[[nodiscard]] std::vector<std::int64_t> adapter_parameters(const ShardedLinear& shape, SharedSide side,
                                                           int tensor);

/// Elements of 16 bits that an adapter keeps of its input: the input and, dropped out, the mask.
[[nodiscard]] double kept_by_adapter(const LayerScope& scope, LoraModule module);

/// Rank of the adapter of a module; 0: it has none.
[[nodiscard]] std::int64_t rank_of(const TransformerSpec& model, LoraModule module);

}  // namespace lockstep
