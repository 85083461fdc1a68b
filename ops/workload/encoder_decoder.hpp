#pragma once

#include "ops/job.hpp"
#include "ops/workload/encoder_decoder_spec.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// A training step of T5 or Switch Transformers as Hugging Face writes them, data parallel.
/// @throws std::invalid_argument for what does not fit together
[[nodiscard]] Job encoder_decoder_job(const EncoderDecoderSpec& spec, const TrainingSetup& setup);

}  // namespace lockstep
