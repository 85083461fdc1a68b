#pragma once

#include "ops/job.hpp"
#include "ops/workload/training_setup.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// One data-parallel training step of a GPT or BERT in eager PyTorch: micro-batches of forward and backward
/// (gradients are all-reduced in buckets during the last one), loss scaling in FP16, clipping, AdamW.
/// @throws std::invalid_argument for a batch that does not divide by ranks and micro-batches, flash attention
///   in FP32
[[nodiscard]] Job transformer_job(const TransformerSpec& spec, const TrainingSetup& setup);

}  // namespace lockstep
