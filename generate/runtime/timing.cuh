#pragma once

/// @file
/// Times of single launches.

#include <vector>

#include "generate/runtime/device.cuh"

namespace benchmark {

/// 0 for none.
[[nodiscard]] double median(std::vector<double> values);

/// Seconds on the GPU between two events that have happened.
[[nodiscard]] double between(cudaEvent_t first, cudaEvent_t second);

/// Host seconds of a launch of an empty kernel: the median of 1,000.
[[nodiscard]] double time_of_launch(cudaStream_t stream);

/// Seconds of each launch alone on its GPU: the median of five; -1 where there is none.
[[nodiscard]] std::vector<double> times_alone(const std::vector<Launch>& kernels, cudaStream_t stream);

}  // namespace benchmark
