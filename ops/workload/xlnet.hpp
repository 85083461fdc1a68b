#pragma once

#include "ops/job.hpp"
#include "ops/workload/training_setup.hpp"
#include "ops/workload/xlnet_spec.hpp"

namespace lockstep {

/// A training step of XLNet as Hugging Face writes it, data parallel.
/// @throws std::invalid_argument for what does not fit together
[[nodiscard]] Job xlnet_job(const XlnetSpec& spec, const TrainingSetup& setup);

}  // namespace lockstep
