#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ops/workload/optimizer_spec.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// optimizer.zero_grad(): fills the gradients, or only drops them (FrameworkSpec::zero_gradients). Apex's O2
/// fills each by itself.
/// @param parameters elements of each parameter
void zero_gradients(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters);

/// optimizer.step() over parameters of type TensorTypes::optimizer(): the kernels of torch.optim, per
/// parameter, for many at once or fused (FrameworkSpec::optimizer), or those of transformers' AdamW, LAMB or
/// BertAdam, of which there is one style each.
/// @param decays BertAdam: whether a parameter of so many elements decays; none given: all do
/// @throws std::invalid_argument for a fused Adagrad, which PyTorch does not have on GPUs
void optimizer_step(StepWriter& step, const OptimizerSpec& optimizer,
                    std::span<const std::int64_t> parameters,
                    const std::function<bool(std::int64_t elements)>& decays = {});

/// torch.optim's loop over parameters, whatever FrameworkSpec::optimizer says: where some gradients are
/// sparse.
void optimizer_step_by_tensor(StepWriter& step, const OptimizerSpec& optimizer,
                              std::span<const std::int64_t> parameters);

}  // namespace lockstep
