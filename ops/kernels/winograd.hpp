#pragma once

#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Winograd's convolutions of 3 x 3 filters, stride 1, in FP32: the equations of convolution.hpp. With
/// `winograd`, `products` and `transforms` of KernelEfficiency::convolution.

/// In one kernel; forward and input's gradient.
[[nodiscard]] Seconds fused_winograd_time(const Convolution& of, const GpuSpec& gpu);

/// The time by 36 products between transforms. @p largest_split: parts into which their k may be split
[[nodiscard]] Seconds unfused_winograd_time(const Convolution& of, int largest_split, const GpuSpec& gpu);

}  // namespace lockstep
