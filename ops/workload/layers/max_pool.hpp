#pragma once

#include "ops/kernel.hpp"
#include "ops/workload/layers/pool.hpp"

namespace lockstep::kernels {

/// `max_pool_forward_nchw`: reads the input once, writes maxima and where they were (an index of 8 bytes).
/// A thread an output: 130 instructions (5 divisions by numbers that are not known before), 15 for a row of
/// its window and 20 for each element of it.
///
/// *Source* of all counts: aten/src/ATen/native/cuda/DilatedMaxPool2d.cu, its arithmetic compiled by
/// nvcc 13.0 for sm_75 and sm_90 with 32-bit sizes: 161 and 165 instructions, 126 and 130 of them outside of
/// the loops.
[[nodiscard]] KernelCall max_pool_forward(const Pool& pool, DataType type);

/// `max_pool_backward_nchw`: a thread an input pixel looks through all windows that it is in. Memory as
/// forward the other way round. 200 instructions (5 divisions) a pixel, 12 for a row of windows and 17 for
/// each window; 232 and 247 in all for sm_75 and sm_90, 204 and 216 of them outside of the loops.
[[nodiscard]] KernelCall max_pool_backward(const Pool& pool, DataType type);

}  // namespace lockstep::kernels
