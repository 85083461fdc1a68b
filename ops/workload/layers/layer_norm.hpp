#pragma once

#include <array>
#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The kernels of a layer norm: of Apex's FusedLayerNorm, which goes through its rows an element a thread,
/// whatever its size, 57 instructions forward, 80 and 53 backward; else of aten::layer_norm. *Source*: 75.1
/// and 176.2 us of 16,384 rows of 1,024 elements in FP16 on an A100 (github.com/NVIDIA/apex/pull/1037, before
/// it), where bytes need 48 and 120; that backward splits like the bytes of its two kernels is assumed.
[[nodiscard]] KernelCall layer_norm_kernel(bool apex, DataType type, std::int64_t rows, std::int64_t columns);
[[nodiscard]] std::array<KernelCall, 2> layer_norm_gradient_kernels(bool apex, DataType type,
                                                                    std::int64_t rows, std::int64_t columns);

/// Layer normalisation of @p rows rows, in the model's type (FP32 with autocast). With FrameworkSpec::apex it
/// is Apex's; that the host takes PyTorch's time for it is assumed.
void layer_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns);

/// @param other_gradients how many gradients of the same input exist already and are added up: a residual
///   connection that passes by the normalisation
void layer_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                         int other_gradients);
/// Its backward where what it normalises needs no gradient.
void layer_norm_parameters_backward(StepWriter& step, std::int64_t rows, std::int64_t columns,
                                    GradientSink& gradients);

}  // namespace lockstep
