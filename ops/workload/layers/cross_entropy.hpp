#pragma once

#include <cstdint>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Cross-entropy of logits [batch, sequence, classes] with the next token (shifted) or the same one.
struct CrossEntropyShape {
  std::int64_t batch = 0, sequence = 0, classes = 0;
  bool shifted = true;

  [[nodiscard]] std::int64_t rows() const { return batch * (shifted ? sequence - 1 : sequence); }
};

void cross_entropy_forward(StepWriter& step, const CrossEntropyShape& shape);
void cross_entropy_backward(StepWriter& step, const CrossEntropyShape& shape);

}  // namespace lockstep
