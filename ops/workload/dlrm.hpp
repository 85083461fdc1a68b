#pragma once

#include "ops/job.hpp"
#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// One training step as dlrm_s_pytorch.py executes it: inputs to the device; embeddings of the global batch
/// for local tables, exchanged by all-to-all when there are several ranks; MLPs and interaction on the rank's
/// share of the batch; loss and its read-back; backward on the autograd thread with gradient buckets; step.
///
/// Several ranks follow extend_distributed.py: look-up and all-to-all before the bottom MLP, which overlaps
/// the exchange in both directions.
/// @throws std::invalid_argument for a batch that does not divide by the ranks, fewer tables than ranks, a
///   table that fits nowhere, a mixed precision
[[nodiscard]] Job dlrm_job(const DlrmSpec& spec, const TrainingSetup& setup);

}  // namespace lockstep
