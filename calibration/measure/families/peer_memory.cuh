#pragma once

#include "calibration/measure/gpu.cuh"

namespace lockstep {

/// Memory of another GPU, with direct access where the machine has it, as NCCL and PyTorch use it; else the
/// driver copies through the host. @throws CudaError
[[nodiscard]] SharedMemory memory_of_peer(const Gpu& gpu, int peer, std::int64_t bytes);

}  // namespace lockstep
