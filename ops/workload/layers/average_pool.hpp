#pragma once

#include "ops/kernel.hpp"
#include "ops/workload/layers/pool.hpp"

namespace lockstep::kernels {

/// `avg_pool2d_out_cuda_frame`, in channels last `..._nhwc`: a thread an output. Reads the input and writes
/// the means once; neither counts beside the instructions, most of them divisions by sizes of 64 bits, four
/// in channels last and two in NCHW:
///
///   NCHW   160 and 17 for a row of the window and 7.5 for each element of it
///   NHWC   250, 30 and 18
///
/// *Source* of all counts: aten/src/ATen/native/cuda/AveragePool2d.cu (PyTorch 2.11), its arithmetic compiled
/// by nvcc 13.0 for sm_90: 190, 20 and 9 forward in NCHW, 180, 22 and 13 in NHWC, 265, 30 and 40 backward,
/// 256, 30 and 42 in NHWC, each set times what the H100's kernels of Inception v3 take at the rate of
/// time_to_issue(): 0.84, 1.39 (a block of 1,024 threads has the registers of an SM for itself), 0.93, 1.05
/// (calibration/measurements/h100/variant_kernels.csv). *Assumes* these of all versions: those of 2020, with
/// sizes of 32 bits, are much like max pooling's, 265 forward of 3 x 3.
[[nodiscard]] KernelCall average_pool_forward(const Pool& pool, DataType type, bool channels_first);

/// `avg_pool2d_backward_out_cuda_frame`: a thread an input pixel goes through all windows that it is in and
/// divides by the size of each. NCHW: 246 instructions, 28 for a row of windows and 37 for each window; NHWC:
/// 269, 31.5 and 44. Borders are not left out: threads beside one wait for the others of their 32 in NCHW,
/// and in NHWC they take 8 % less of images of 8 x 8.
[[nodiscard]] KernelCall average_pool_backward(const Pool& pool, DataType type, bool channels_first);

}  // namespace lockstep::kernels
