#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The bias that T5's attention adds to its scores. The first layer of a stack makes it, all add it: a
/// learned number for each head and bucket of distances (self-attention), or just the mask (cross-attention).
struct RelativeBiasShape {
  std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, buckets = 0;
  bool causal = false;  ///< distances one way

  [[nodiscard]] std::int64_t pairs() const { return queries * keys; }
  [[nodiscard]] std::int64_t scores() const { return batch * heads * pairs(); }
};

/// compute_bias(): the bucket of each distance, its row of the table, and the mask added. The sum keeps the
/// order of the table's rows, heads side by side (TensorIterator keeps its first operand's order).
/// *Source*: transformers v4.38, models/t5/modeling_t5.py; aten/src/ATen/TensorIterator.cpp,
/// reorder_dimensions().
void relative_bias_forward(StepWriter& step, const RelativeBiasShape& shape);
/// The sum over samples, and the table's gradient.
void relative_bias_backward(StepWriter& step, const RelativeBiasShape& shape, GradientSink& gradients);

/// Zeros and the mask of padded keys.
void cross_bias_forward(StepWriter& step, const RelativeBiasShape& shape);

/// ModuleUtilsMixin: a row a sample of tokens that are not padding; the same for each query, with those
/// behind it.
void padding_mask_forward(StepWriter& step, std::int64_t tokens);
void causal_mask_forward(StepWriter& step, std::int64_t batch, std::int64_t sequence);

}  // namespace lockstep
