#pragma once

#include <cstdint>
#include <span>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// optimizer.zero_grad(): fills the gradients, or only drops them (FrameworkSpec::zero_gradients).
/// @param parameters elements of each parameter
void zero_gradients(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters);

/// optimizer.step() over parameters of type TensorTypes::optimizer(): the kernels of torch.optim, per
/// parameter, for many at once or fused (FrameworkSpec::optimizer).
/// @throws std::invalid_argument for a fused Adagrad, which PyTorch does not have on GPUs
void optimizer_step(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters);

}  // namespace lockstep
