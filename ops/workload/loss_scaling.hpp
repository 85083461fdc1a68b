#pragma once

#include <cstdint>
#include <functional>
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

/// Scales gradients as clip_grad_norm_ does: by limit / (norm + 1e-6) or by 1, which keeps the host from
/// waiting. With `clip_reads_norm` the host reads whether the factor is below 1, and here it
/// never is. @param multiply writes the multiplication. *Source*: torch/nn/utils/clip_grad.py, before and
/// after pytorch/pytorch pull request 61042 (2021: PyTorch 1.10).
void clip_by_norm(StepWriter& step, const std::function<void()>& multiply);

/// torch.nn.utils.clip_grad_norm_: norms of all gradients, their norm, and clip_by_norm.
/// *Source*: torch/nn/utils/clip_grad.py (PyTorch 2).
void clip_gradients(StepWriter& step, std::span<const std::int64_t> parameters);

}  // namespace lockstep
