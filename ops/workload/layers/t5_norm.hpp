#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// T5LayerNorm as Hugging Face writes it out, an operator at a time: weight * (x * rsqrt(mean(x^2) + eps)),
/// without a mean that is subtracted and without a bias. Statistics are in FP32; a model in 16 bits casts
/// before and behind.
/// *Source*: transformers v4.38, models/t5/modeling_t5.py (with NVIDIA Apex installed it is FusedRMSNorm
/// instead); torch/csrc/autograd/FunctionsManual.cpp for what its backward calls.
void t5_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns);

/// @param other_gradients how many gradients of the same input exist already: a residual connection's
void t5_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                      int other_gradients);

}  // namespace lockstep
