#pragma once

#include "ops/job.hpp"
#include "ops/workload/cnn_spec.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// One training step of torchvision's models as a plain PyTorch loop executes it: images and labels to the
/// device; forward; cross-entropy; backward on the autograd thread, with DistributedDataParallel's buckets
/// where there are several ranks; SGD, Adagrad or AdamW of torch.optim.
/// @throws std::invalid_argument for a batch that does not divide by the ranks, or FP8
[[nodiscard]] Job cnn_job(const CnnSpec& spec, const TrainingSetup& setup);

}  // namespace lockstep
