#pragma once

#include <memory>
#include <string>

#include "calibration/measure/gpu_experiments.cuh"
#include "calibration/measure/grid_point.hpp"
#include "calibration/measure/processes.cuh"

namespace lockstep {

/// Whether the program was built with NCCL.
[[nodiscard]] bool has_nccl();

/// NCCL's version, `2.28.9`; "" without NCCL.
[[nodiscard]] std::string nccl_version();

/// A point of the family collective, over the first GPUs of this process or all of all processes; the leader
/// calls it.
///
/// As nccl-tests does it (src/common.cu, `-w 5 -n 20 -a 1`): bytes are those of the larger of what a rank
/// sends and receives; after five calls that do not count a repeat is the host's time from the first of
/// twenty calls to the end of the last, per call, the mean over processes. Fewer calls where twenty take more
/// than 20 ms, at least two.
/// @throws CudaError; std::logic_error without NCCL, or where one of several processes fails: the others wait
/// for it
[[nodiscard]] std::unique_ptr<Experiment> collective_experiment(const Processes& processes, int gpus,
                                                                const GridPoint& point);

/// What processes do that do not lead: join in what the leader measures, until it ends.
void follow(const Processes& processes, int gpus);

/// The leader tells the others that there is nothing more to join in.
void dismiss(const Processes& processes);

/// An all-reduce of FP32 numbers over the first @p gpus GPUs of this process; on the first GPU's given stream
/// and streams of their own on the others.
/// @throws CudaError; std::logic_error without NCCL
[[nodiscard]] Launch all_reduce_of_one_process(int gpus, std::int64_t bytes);

}  // namespace lockstep
