#pragma once

/// @file
/// The two limits every kernel model shares: moving bytes and doing arithmetic.

#include "base/units.hpp"
#include "ops/kernel.hpp"
#include "topology/gpu_spec.hpp"

namespace lockstep {

/// What a kernel moves between its SMs and memory.
struct Traffic {
  Bytes moved;          ///< read plus written
  Bytes footprint;      ///< distinct bytes among them
  double fraction = 1;  ///< of the streaming DRAM bandwidth that this access pattern reaches
};

/// Time to move @p traffic, without the kernel's fixed part:
///
///   resident = clamp((2 L2 - footprint) / L2, 0, 1)
///   t = moved * (1 - resident) / (DRAM * memory * fraction) + moved * resident / (L2 bandwidth * fraction)
///
/// *Assumes* that what the previous kernel left behind is still in the level-2 cache when all of it fits, and
/// none of it when it is twice as large (write-back, least recently used).
/// *Valid for* any size; below about 64 KiB the kernel minimum dominates.
/// *Source*: own formula; `memory` and the cache's bandwidth are measured (configs/gpus/).
[[nodiscard]] Seconds time_to_move(const Traffic& traffic, const GpuSpec& gpu);

/// The dense peak @p gpu offers for @p type. TF32 on a GPU without it is computed in FP32, as cuBLAS does.
/// @throws std::invalid_argument when the GPU has no unit for the type
[[nodiscard]] FlopsPerSecond peak_of(const GpuSpec& gpu, DataType type);

/// True when @p type is computed on tensor cores of @p gpu.
[[nodiscard]] bool uses_tensor_cores(const GpuSpec& gpu, DataType type);

}  // namespace lockstep
