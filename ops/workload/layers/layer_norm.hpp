#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Layer normalisation of @p rows rows, in the model's type (FP32 with autocast).
void layer_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns);

/// @param other_gradients how many gradients of the same input exist already and are added up: a residual
///   connection that passes by the normalisation
void layer_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                         int other_gradients);

}  // namespace lockstep
