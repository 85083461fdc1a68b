#pragma once

#include <cstdint>

#include "ops/kernel.hpp"
#include "ops/workload/layers/pool.hpp"

namespace lockstep::kernels {

/// Sizes that average pooling's threads divide by: 64 bits since PyTorch 1.13, 32 before (fixed by
/// github.com/pytorch/pytorch/pull/68682; 1.12's still overflowed, .../issues/84018).
enum class PoolSizes : std::uint8_t { Wide, Narrow };

/// `avg_pool2d_out_cuda_frame`, in channels last `..._nhwc`: a thread an output. Reads the input and writes
/// the means once; neither counts beside the instructions, most of them divisions by sizes that are not known
/// before. Of a thread, for a row of its window and for each element of it:
///
///            64 bits           32 bits
///   NCHW     160, 17 and 7.5   128, 15 and 8
///   NHWC     250, 30 and 18    152, 15 and 9
///
/// *Source* of all counts: aten/src/ATen/native/cuda/AveragePool2d.cu, its arithmetic compiled by nvcc 13.0
/// for sm_90; those of 64 bits (190, 20 and 9 forward in NCHW, 180, 22 and 13 in NHWC, 265, 30 and 40
/// backward, 256, 30 and 42 in NHWC) times what the H100's kernels of Inception v3 take at the rate of
/// time_to_issue(): 0.84, 1.39 (a block of 1,024 threads has the registers of an SM for itself), 0.93, 1.05
/// (calibration/measurements/h100/variant_kernels.csv). Those of 32 bits were not measured.
[[nodiscard]] KernelCall average_pool_forward(const Pool& pool, DataType type, bool channels_first,
                                              PoolSizes sizes);

/// `avg_pool2d_backward_out_cuda_frame`: a thread an input pixel goes through all windows that it is in and
/// divides by the size of each. Of a thread, for a row of windows and for each window:
///
///            64 bits            32 bits
///   NCHW     246, 28 and 37     208, 24 and 34
///   NHWC     269, 31.5 and 44   242, 25 and 36
///
/// Borders are not left out: threads beside one wait for the others of their 32 in NCHW, and in NHWC they
/// take 8 % less of images of 8 x 8.
[[nodiscard]] KernelCall average_pool_backward(const Pool& pool, DataType type, bool channels_first,
                                               PoolSizes sizes);

}  // namespace lockstep::kernels
