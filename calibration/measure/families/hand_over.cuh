#pragma once

#include <string>

#include "calibration/measure/gpu_experiments.cuh"

namespace lockstep {

/// The operations of the family host_call that hand over between host and GPU, kernels, streams or graphs'
/// nodes.
/// @p size is the number of nodes of a graph. @throws std::logic_error for an unknown operation, CudaError
[[nodiscard]] std::unique_ptr<Experiment> hand_over_experiment(const Gpu& gpu, const std::string& operation,
                                                               int size);

}  // namespace lockstep
