#pragma once

#include <cstdint>
#include <string>

#include "calibration/measure/gpu_experiments.cuh"

namespace lockstep {

/// Arrays of one normalisation over the rows of a matrix. Weight and bias are random numbers of seeds 4
/// and 5.
struct NormalisationArrays {
  SharedMemory x;         ///< random numbers of seed 1
  SharedMemory dy;        ///< random numbers of seed 2: the gradient that comes in
  SharedMemory result;    ///< y, or dx
  SharedMemory gradient;  ///< of layer_norm_backward, fp32: of the weight, then of the bias; added to
  Launch launch;
};

/// @p operation layer_norm, layer_norm_backward, softmax, softmax_backward (whose x is taken for y); @p
/// columns a multiple of 32, at most 16384. Layer norm's epsilon is 1e-5; backward takes means of 0 and
/// deviations of 1 for the rows' statistics.
/// @throws std::logic_error for an unknown operation or type, CudaError
[[nodiscard]] NormalisationArrays normalisation(const std::string& operation, const std::string& type,
                                                std::int64_t rows, std::int64_t columns);

}  // namespace lockstep
