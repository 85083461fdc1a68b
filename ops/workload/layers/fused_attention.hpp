#pragma once

#include "ops/workload/layers/attention.hpp"

namespace lockstep {

/// scaled_dot_product_attention with a fused kernel (AttentionShape::kernels), and what lies round it: other
/// kernels of its backward, views.
void fused_attention_forward(StepWriter& step, const AttentionShape& shape);
void fused_attention_backward(StepWriter& step, const AttentionShape& shape);

}  // namespace lockstep
