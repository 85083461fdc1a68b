#pragma once

#include <cstdint>
#include <functional>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Cross-entropy of logits [batch, sequence, classes] with the next token (shifted) or the same one.
struct CrossEntropyShape {
  std::int64_t batch = 0, sequence = 0, classes = 0;
  bool shifted = true;
  bool cast_first = false;   ///< logits are made FP32 before they are shifted (LlamaForCausalLM), else behind
  bool pads_labels = false;  ///< labels are shifted in place of logits (transformers 5, loss_utils.py)

  [[nodiscard]] std::int64_t rows() const { return batch * (shifted ? sequence - 1 : sequence); }
};

/// Under autocast, unless logits are made FP32 first, cross_entropy_loss asks for a log-softmax of the
/// logits' type, so that only nll_loss, and its gradient, are in FP32. *Source*: PyTorch 1.10 and later,
/// aten/src/ATen/native/LossNLL.cpp, `at::log_softmax(self, class_dim, self.scalar_type())`;
/// aten/src/ATen/autocast_mode.h, fp32_set_opt_dtype; BERT-large's step on an H100 (PyTorch 2.11,
/// calibration/measurements/h100/variant_kernels.csv). Before 1.10 it was in FP32, which is not written.
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
