#pragma once

#include <cstdint>
#include <span>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The optimizer's own FP32 parameters beside a model in 16 bits (MixedPrecision::MasterWeights), many
/// tensors a launch. *Source*: Micikevicius et al., arXiv 1710.03740, section 3.1; NVIDIA Apex,
/// apex/amp/_process_optimizer.py.
/// @param parameters elements of each parameter
void widen_gradients(StepWriter& step, std::span<const std::int64_t> parameters);      ///< before the update
void copy_master_weights(StepWriter& step, std::span<const std::int64_t> parameters);  ///< back, after it

}  // namespace lockstep
