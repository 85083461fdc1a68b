#pragma once

#include <cstdint>
#include <span>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Kernels that NVIDIA Apex launches in place of PyTorch's own (FrameworkSpec::apex).

/// multi_tensor_l2norm over tensors of type TensorTypes::optimizer(): a pass that leaves a partial sum for
/// each block, and one that adds them up. Launches within an open operator.
/// *Source*: github.com/NVIDIA/apex, csrc/multi_tensor_l2norm_kernel.cu.
/// @param tensors elements of each
void l2_norm(StepWriter& step, std::span<const std::int64_t> tensors);

/// amp's O2 behind a backward pass: gradients in 16 bits, divided by the loss scale, become FP32 gradients or
/// are added to those of earlier micro-batches; with FP16 the host then reads whether they overflowed.
/// *Source*: apex/amp/handle.py (scale_loss, without delay_overflow_check), _process_optimizer.py
/// (post_backward_with_master_weights), scaler.py.
/// @param adds there are FP32 gradients already
void unscale_into_master_gradients(StepWriter& step, std::span<const std::int64_t> parameters, bool adds);

/// Clipping by the norm of all gradients, which the host reads before it multiplies. *Assumes* that the norm
/// is above the limit, so that gradients are multiplied.
/// *Source*: NVIDIA DeepLearningExamples, PyTorch/LanguageModeling/BERT/run_squad.py, GradientClipper.
void clip_gradients_with_apex(StepWriter& step, std::span<const std::int64_t> parameters);

}  // namespace lockstep
