#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/attention.hpp"
#include "ops/workload/layers/relative_bias.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// T5Attention with its four projections: three products without bias, scores that are not scaled, a bias of
/// positions added in place. Of another stack's tokens (cross) or its own.
struct T5AttentionShape {
  std::int64_t batch = 0, queries = 0, keys = 0, hidden = 0, heads = 0, head_size = 0, buckets = 0;
  bool causal = false, cross = false, dropout = true;
  AttentionKernels kernels =
      AttentionKernels::Flash;  ///< of transformers 5, in 16 bits, where no bias is added

  [[nodiscard]] std::int64_t inner() const { return heads * head_size; }
  [[nodiscard]] std::int64_t query_rows() const { return batch * queries; }
  [[nodiscard]] std::int64_t key_rows() const { return batch * keys; }
  [[nodiscard]] std::int64_t scores() const { return batch * heads * queries * keys; }
  [[nodiscard]] RelativeBiasShape bias() const {
    return {.batch = batch,
            .queries = queries,
            .keys = keys,
            .heads = heads,
            .buckets = buckets,
            .causal = causal};
  }
};

/// The place of an attention in its stack.
struct T5AttentionPlace {
  bool first = false;  ///< makes the bias, which the others reuse
  bool last = false;   ///< whose gradients of the bias and of the other stack's tokens come first
};

/// *Source*: transformers v4.38, models/t5/modeling_t5.py, T5Attention; of 5.17 see t5_sdpa.hpp.
void t5_attention_forward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place);
void t5_attention_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place,
                           GradientSink& gradients);

}  // namespace lockstep
