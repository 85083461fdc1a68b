#pragma once

#include <string>

#include "calibration/measure/families/communicators.cuh"

namespace lockstep {

/// What one rank of a collective call works on.
struct CollectiveBuffers {
  float* send;
  float* receive;
  std::size_t elements;  ///< of the larger of the two, over all ranks where they share it
};

/// Puts one rank's part of a collective of FP32 numbers on a stream; to be called between ncclGroupStart and
/// ncclGroupEnd. Roots are rank 0; send_recv sends to the next rank and receives from the one before. In
/// place where both buffers begin alike, as nccl-tests does it: all_gather sends from, reduce_scatter
/// receives into its own part of the whole.
/// @throws std::logic_error for an unknown operation, CudaError
void call_collective(const std::string& operation, const LocalRank& rank, int ranks,
                     const CollectiveBuffers& buffers, cudaStream_t stream);

}  // namespace lockstep
