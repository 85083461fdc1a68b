#pragma once

#include "ops/job.hpp"
#include "ops/workload/training_setup.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// A transformer as Megatron-LM trains it, by any plan: one Program for each pipeline stage.
/// @throws std::invalid_argument with a sentence about what does not divide
[[nodiscard]] Job parallel_transformer_job(const TransformerSpec& model, const TrainingSetup& setup);

}  // namespace lockstep
