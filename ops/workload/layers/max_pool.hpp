#pragma once

#include <cstdint>

#include "ops/kernel.hpp"

namespace lockstep::kernels {

/// Max pooling of @p planes images (batch times channels) by windows.
struct MaxPool {
  std::int64_t planes = 0;
  std::int64_t height = 0, width = 0;          ///< of the input
  std::int64_t out_height = 0, out_width = 0;  ///< of the output
  std::int64_t window_height = 1, window_width = 1;
};

/// `max_pool_forward_nchw`: reads the input once, writes maxima and where they were (an index of 8 bytes).
/// A thread an output: 130 instructions (5 divisions by numbers that are not known before), 15 for a row of
/// its window and 20 for each element of it.
///
/// *Source* of all counts: aten/src/ATen/native/cuda/DilatedMaxPool2d.cu, its arithmetic compiled by
/// nvcc 13.0 for sm_75 and sm_90 with 32-bit sizes: 161 and 165 instructions, 126 and 130 of them outside of
/// the loops.
[[nodiscard]] KernelCall max_pool_forward(const MaxPool& pool, DataType type);

/// `max_pool_backward_nchw`: a thread an input pixel looks through all windows that it is in. Memory as
/// forward the other way round. 200 instructions (5 divisions) a pixel, 12 for a row of windows and 17 for
/// each window; 232 and 247 in all for sm_75 and sm_90, 204 and 216 of them outside of the loops.
[[nodiscard]] KernelCall max_pool_backward(const MaxPool& pool, DataType type);

}  // namespace lockstep::kernels
