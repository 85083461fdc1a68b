#pragma once

#include <cstdint>
#include <span>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// LAMB (You et al., arXiv 1904.00962) as Apex's FusedLAMB launches it, many tensors a launch: the norm of
/// all gradients (a pass over memory), the norm of each parameter (1), the update in place of the gradient
/// with both moments (4 read, 3 written), the norm of each update (1), parameters less learning rate x norm
/// of parameter / norm of update x update (2 read, 1 written). The host reads nothing.
///
/// *Assumes* one list of parameters; the two groups with and without weight decay are launched one after the
/// other by Apex, which is a few launches more.
/// *Source*: github.com/NVIDIA/apex, apex/optimizers/fused_lamb.py, csrc/multi_tensor_lamb.cu.
void lamb_step(StepWriter& step, std::span<const std::int64_t> parameters);

}  // namespace lockstep
