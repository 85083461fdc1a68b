#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/t5_feed_forward.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// SwitchTransformersSparseMLP: a router sends each token to one expert until that has as many of its sample
/// as it has room for; the others go on as they are. Python goes through the experts one by one: a mask of
/// tokens, whose indices the host waits for when it picks them and again when it puts the results back.
struct SwitchExpertsShape {
  std::int64_t batch = 0, sequence = 0, hidden = 0, width = 0;
  std::int64_t count = 0, capacity = 0;
  std::int64_t chosen = 0;  ///< experts that tokens are sent to, evenly; the others get none
  bool jitter = false, dropout = true;

  [[nodiscard]] std::int64_t rows() const { return batch * sequence; }
  [[nodiscard]] std::int64_t elements() const { return rows() * hidden; }
  [[nodiscard]] std::int64_t scores() const { return rows() * count; }
  /// Tokens of all samples that an expert multiplies.
  [[nodiscard]] std::int64_t tokens_of(std::int64_t expert) const;
  [[nodiscard]] T5FeedForwardShape expert(std::int64_t index) const {
    return {.rows = tokens_of(index), .hidden = hidden, .width = width, .dropout = dropout};
  }
};

/// *Source*: transformers v4.38, models/switch_transformers/modeling_switch_transformers.py; PyTorch 2.1
/// aten/src/ATen/native/cuda/{Nonzero,Indexing,IndexKernel}.cu, TensorAdvancedIndexing.cpp,
/// tools/autograd/derivatives.yaml (backward looks the indices of each mask up again).
/// *Assumes* at most 5,000 tokens or so, whose sums and sorts CUB does in one block.
void switch_experts_forward(StepWriter& step, const SwitchExpertsShape& shape);
void switch_experts_backward(StepWriter& step, const SwitchExpertsShape& shape, GradientSink& gradients);

/// The two losses of all routers of a stack (@p layers of them): how large their scores are, and how unevenly
/// they send. The model computes them in every forward pass, labels or not.
void router_losses_forward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t layers);
void router_losses_backward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t layers);

}  // namespace lockstep
