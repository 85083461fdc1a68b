#pragma once

#include "ops/workload/framework_spec.hpp"
#include "ops/workload/parallel/plan_spec.hpp"
#include "ops/workload/precision.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// torchao's FP8, whose weights FSDP casts before it gathers them: parameters have to be sharded.
[[nodiscard]] bool is_float8_of_torchao(const TransformerSpec& model, Precision precision);

/// @throws std::invalid_argument for what the model's implementation does not have
void check_implementation(const TransformerPlanSpec& plan, const TransformerSpec& model);

/// @throws std::invalid_argument for what torch.compile's blocks, or torchao's FP8 in them, cannot be, and
/// for what is not run in 16 bits throughout
void check_framework(const TransformerPlanSpec& plan, const TransformerSpec& model,
                     const FrameworkSpec& framework, TensorTypes types);

}  // namespace lockstep
