#pragma once

#include <cstdint>
#include <span>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// torch.cuda.amp.GradScaler, which FP16 needs: the loss is multiplied before backward; before the optimizer
/// gradients are divided and searched for infinities, whose count the host reads (and waits for); after it
/// the scale is updated. *Source*: torch/amp/grad_scaler.py.
void scale_loss_forward(StepWriter& step);
void scale_loss_backward(StepWriter& step);
void unscale_gradients(StepWriter& step, std::span<const std::int64_t> parameters);
void update_scale(StepWriter& step);

/// torch.nn.utils.clip_grad_norm_: norms of all gradients, their norm, and a multiplication that keeps the
/// host from waiting. *Source*: torch/nn/utils/clip_grad.py (PyTorch 2).
void clip_gradients(StepWriter& step, std::span<const std::int64_t> parameters);

}  // namespace lockstep
