#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/switch_experts.hpp"
#include "ops/workload/layers/t5_attention.hpp"
#include "ops/workload/layers/t5_feed_forward.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// How a stack's experts route, and which of its layers have them.
struct SwitchRouting {
  std::int64_t count = 0, capacity = 0, chosen = 0;
  std::int64_t every = 0;  ///< 2: the second, fourth, ...; 0: none
  bool jitter = false;
};

/// The encoder or the decoder of a T5: layers of self-attention, in the decoder cross-attention, and
/// feed-forward, each behind a norm and beside a residual connection.
struct T5StackShape {
  std::int64_t batch = 0, sequence = 0, layers = 0;
  std::int64_t encoded = 0;  ///< tokens of the encoder that a decoder attends to; 0: an encoder
  std::int64_t hidden = 0, heads = 0, head_size = 0, feed_forward = 0, buckets = 0;
  bool gated = false, dropout = true;
  AttentionKernels cross_kernels = AttentionKernels::Flash;
  std::optional<SwitchRouting> routing;

  [[nodiscard]] bool is_decoder() const { return encoded > 0; }
  [[nodiscard]] std::int64_t rows() const { return batch * sequence; }
  [[nodiscard]] std::int64_t elements() const { return rows() * hidden; }
  [[nodiscard]] bool is_sparse(std::int64_t layer) const;
  [[nodiscard]] std::int64_t sparse_layers() const;
  [[nodiscard]] T5AttentionShape self_attention() const;
  [[nodiscard]] T5AttentionShape cross_attention() const;
  [[nodiscard]] T5FeedForwardShape dense() const;
  [[nodiscard]] SwitchExpertsShape experts() const;  ///< of a stack with routing
};

void t5_block_forward(StepWriter& step, const T5StackShape& stack, std::int64_t layer);
void t5_block_backward(StepWriter& step, const T5StackShape& stack, std::int64_t layer,
                       GradientSink& gradients);

/// Elements of a layer's parameters in the order of the modules.
[[nodiscard]] std::vector<std::int64_t> parameters_of(const T5StackShape& stack, std::int64_t layer);

}  // namespace lockstep
