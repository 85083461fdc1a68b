#pragma once

#include <cstdint>
#include <functional>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Cross-entropy of logits [batch, sequence, classes] with the next token (shifted) or the same one.
struct CrossEntropyShape {
  std::int64_t batch = 0, sequence = 0, classes = 0;
  bool shifted = true;
  bool cast_first = false;  ///< logits are made FP32 before they are shifted (LlamaForCausalLM), else behind

  [[nodiscard]] std::int64_t rows() const { return batch * (shifted ? sequence - 1 : sequence); }
};

void cross_entropy_forward(StepWriter& step, const CrossEntropyShape& shape);
void cross_entropy_backward(StepWriter& step, const CrossEntropyShape& shape);

/// Cross-entropy of logits whose classes ranks share (PyTorch's loss_parallel, torch/distributed/tensor/
/// parallel/loss.py): in FP32, operator by operator; greatest logit, sum of exponentials and what labels pick
/// are reduced over the ranks. Backward writes the gradient from the kept log-softmax, without communication.
/// @param shape with the classes of this rank
/// @param reduce writes an all-reduce of one FP32 number a row
void sharded_cross_entropy_forward(StepWriter& step, const CrossEntropyShape& shape,
                                   const std::function<void()>& reduce);
void sharded_cross_entropy_backward(StepWriter& step, const CrossEntropyShape& shape);

}  // namespace lockstep
