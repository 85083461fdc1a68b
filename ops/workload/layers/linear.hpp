#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// y[rows, out] = x[rows, in] W + b.
struct LinearShape {
  std::int64_t rows = 0, in = 0, out = 0;
  bool bias = true;
  bool weight_is_transposed = true;  ///< nn.Linear keeps [out, in]; Hugging Face's Conv1D [in, out]
  /// Follows PyTorch 2's autograd of nn.Linear in three dimensions: views before and behind, the bias's sum a
  /// part of AddmmBackward0 (tests/data/h200_steps).
  bool in_views = false;
};

/// aten::linear (Conv1D: aten::addmm). In mixed precision the weight (and bias) are cast first, and the input
/// when it is FP32.
/// @param cast_input the input is FP32 in mixed precision
void linear_forward(StepWriter& step, const LinearShape& shape, bool cast_input = false);

/// Its casts alone: what is recomputed of a product whose result nobody reads.
void linear_casts_forward(StepWriter& step, const LinearShape& shape, bool cast_input = false);

/// AddmmBackward0 (or MmBackward0 without bias) and what follows it: gradient of the input when @p
/// input_gradient; where @p gradients are trained of the weight, of the bias; casts back to FP32;
/// accumulation, bias first, as autograd orders it.
void linear_backward(StepWriter& step, const LinearShape& shape, GradientSink& gradients, bool input_gradient,
                     bool cast_input = false);

/// Backward of an output projection whose weight is also an embedding table: the weight's gradient waits for
/// the embedding's and is accumulated with it.
void tied_output_backward(StepWriter& step, const LinearShape& shape, GradientSink& gradients);

}  // namespace lockstep
