#pragma once

#include <cstdint>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// native_dropout of so many elements: also writes a mask of one byte each, which backward reads.
///
/// Forward draws each number by a quarter of a Philox round: 34 instructions, and a block's threads meet
/// behind every four elements of theirs (`__syncthreads`), so that reads hide arithmetic only in part.
/// *Source*: aten/src/ATen/native/cuda/Dropout.cu. bernoulli_ of 16 bits, which draws alike, takes 2.3 ps an
/// element on an H20 (dropout_ in place 5.37 ms for 2^30 less div_ and mul_ by their bytes,
/// github.com/flagos-ai/FlagGems/pull/5611), where writing needs 0.5: 29 of them; conversions and mask are
/// counted. On V100 in FP16 a forward pass takes 7.0 ps an element (33.5 million, 572 GB/s of read and
/// written values, github.com/facebookresearch/xformers/pull/14 with benchmark_triton_dropout.py), where
/// bytes need 6.0 and instructions 3.3: the root of both squares is 6.9.
void dropout_forward(StepWriter& step, std::int64_t elements, DataType type);
void dropout_backward(StepWriter& step, std::int64_t elements, DataType type);

}  // namespace lockstep
