#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// XLNetRelativeAttention with its norm. Tensors of tokens are [sequence, batch, hidden]; each token is told
/// from twice as many distances as there are tokens (Yang et al., arXiv 1906.08237, section 2.4 and Dai et
/// al., arXiv 1901.02860, section 3.3).
struct XlnetAttentionShape {
  std::int64_t batch = 0, sequence = 0, hidden = 0, heads = 0;
  bool segments = true;  ///< scores have a term of whether two tokens are of one segment
  bool masked = true;    ///< scores of padding are made small
  bool dropout = true;

  [[nodiscard]] std::int64_t rows() const { return sequence * batch; }
  [[nodiscard]] std::int64_t elements() const { return rows() * hidden; }
  [[nodiscard]] std::int64_t head_size() const { return hidden / heads; }
  [[nodiscard]] std::int64_t weight() const { return hidden * hidden; }  ///< of one of five projections
  [[nodiscard]] std::int64_t matrices() const { return batch * heads; }  ///< of scores
  [[nodiscard]] std::int64_t pairs() const { return sequence * sequence * batch; }
  [[nodiscard]] std::int64_t scores() const { return pairs() * heads; }
  /// Elements of the encoding of distances, which is the same for all samples but held for each.
  [[nodiscard]] std::int64_t distances() const { return 2 * elements(); }
  /// Elements that say whether pairs are of one segment, one-hot; and a query's score of either.
  [[nodiscard]] std::int64_t pair_segments() const { return 2 * pairs(); }
  [[nodiscard]] std::int64_t query_segments() const { return 2 * rows() * heads; }
};

/// Operators in PyTorch's order. torch.einsum becomes aten::bmm, whose operands are copied where no stride of
/// theirs is 1 or dimensions do not fold (with one sample most do), and cast by autocast behind that.
/// *Source*: transformers 4, models/xlnet/modeling_xlnet.py (commit 02fb0d2b), XLNetRelativeAttention;
/// aten/src/ATen/native/Linear.cpp, sumproduct_pair(); copies and nodes of the backward pass as PyTorch
/// 1.13's profiler lists them, on a CPU.
void xlnet_attention_forward(StepWriter& step, const XlnetAttentionShape& shape);
void xlnet_attention_backward(StepWriter& step, const XlnetAttentionShape& shape, GradientSink& gradients);

}  // namespace lockstep
