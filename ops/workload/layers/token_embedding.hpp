#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// nn.Embedding: @p picks rows of a table of @p rows rows.
struct TokenEmbeddingShape {
  std::int64_t rows = 0, columns = 0, picks = 0;
};

void token_embedding_forward(StepWriter& step, const TokenEmbeddingShape& shape);

/// The dense gradient of @p type: zeros, then gradients added row by row; more than 3,072 picks are sorted
/// first.
void token_embedding_gradient(StepWriter& step, const TokenEmbeddingShape& shape, DataType type);

/// That, and its accumulation.
/// @param tied the table is also the output projection's weight, whose gradient is added
/// *Source*: PyTorch aten/src/ATen/native/cuda/Embedding.cu and EmbeddingBackwardKernel.cu; CUB's kernels as
/// traces of PyTorch 2.11 have them (tests/data/h200_steps).
void token_embedding_backward(StepWriter& step, const TokenEmbeddingShape& shape, GradientSink& gradients,
                              bool tied);

}  // namespace lockstep
