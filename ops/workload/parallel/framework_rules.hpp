#pragma once

#include "ops/workload/framework_spec.hpp"
#include "ops/workload/parallel/plan_spec.hpp"
#include "ops/workload/precision.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// torchao's FP8, whose weights FSDP casts before it gathers them: parameters have to be sharded.
[[nodiscard]] bool is_float8_of_torchao(const TransformerSpec& model, Precision precision);

/// The plan with `zero3_implementation` of the model's framework where it has `sharding: zero3` and says
/// none:
///
///   torchtitan, pytorch               fsdp2 (torchtitan/models/llama3/parallelize.py, apply_fsdp)
///   hugging_face, hugging_face_llama  deepspeed
///   megatron                          none: Megatron-FSDP's parameters are views of its buffers
///   nanotron                          none: it has ZeRO-1 alone
///
/// With `offload`, which is DeepSpeed's, PyTorch's are none too. *Source* of Megatron-FSDP:
/// core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py; its `--use-torch-fsdp2` is fsdp2.
[[nodiscard]] TransformerPlanSpec with_zero3_implementation(TransformerPlanSpec plan,
                                                            const TransformerSpec& model);

/// @throws std::invalid_argument for what the model's implementation does not have
void check_implementation(const TransformerPlanSpec& plan, const TransformerSpec& model);

/// @throws std::invalid_argument for what torch.compile's blocks, or torchao's FP8 in them, cannot be, and
/// for what is not run in 16 bits throughout
void check_framework(const TransformerPlanSpec& plan, const TransformerSpec& model,
                     const FrameworkSpec& framework, TensorTypes types);

}  // namespace lockstep
