#pragma once

#include <functional>

#include "ops/workload/communication_type.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// How many FP32 numbers a rank encodes or decodes.
using ElementsOfRank = std::function<std::int64_t(std::size_t rank)>;

/// Within an open operator: the kernels with which FBGEMM makes an FP32 tensor smaller before it travels, and
/// FP32 again behind. FP32 itself takes none.
///
///   fp16, bf16   clamp, cast                     cast back
///   fp8          clamp, FloatToHFP8Quantized     HFP8QuantizedToFloat
///   int8         rows of 32 to 40 bytes          back
///
/// *Source*: fbgemm_gpu/quantize_comm.py and quantize_utils.py (FBGEMM 063bd061).
void encode(StepWriter& step, CommunicationType type, const ElementsOfRank& elements);
void decode(StepWriter& step, CommunicationType type, const ElementsOfRank& elements);

}  // namespace lockstep
