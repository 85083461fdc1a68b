#pragma once

/// @file
/// One function a family: prepares a point of it on a GPU. @throws CudaError where the GPU cannot do it

#include <memory>

#include "calibration/measure/experiment.hpp"
#include "calibration/measure/gpu.cuh"
#include "calibration/measure/grid_point.hpp"

namespace lockstep {

[[nodiscard]] std::unique_ptr<Experiment> gemm_experiment(const Gpu& gpu, const GridPoint& point);
[[nodiscard]] std::unique_ptr<Experiment> memory_experiment(const Gpu& gpu, const GridPoint& point);
[[nodiscard]] std::unique_ptr<Experiment> elementwise_experiment(const Gpu& gpu, const GridPoint& point);
[[nodiscard]] std::unique_ptr<Experiment> reduction_experiment(const Gpu& gpu, const GridPoint& point);
[[nodiscard]] std::unique_ptr<Experiment> normalisation_experiment(const Gpu& gpu, const GridPoint& point);
[[nodiscard]] std::unique_ptr<Experiment> embedding_experiment(const Gpu& gpu, const GridPoint& point);
[[nodiscard]] std::unique_ptr<Experiment> copy_experiment(const Gpu& gpu, const GridPoint& point);
[[nodiscard]] std::unique_ptr<Experiment> host_call_experiment(const Gpu& gpu, const GridPoint& point);
/// With the first @p gpus GPUs.
[[nodiscard]] std::unique_ptr<Experiment> interference_experiment(const Gpu& gpu, int gpus,
                                                                  const GridPoint& point);

}  // namespace lockstep
