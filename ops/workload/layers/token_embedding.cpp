#include "ops/workload/layers/token_embedding.hpp"

#include <vector>

#include "ops/workload/layers/embedding_gradient.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

std::int64_t most_unsorted(EmbeddingBackward backward) {
  return backward == EmbeddingBackward::PyTorch17 ? 768 : kernels::kMostPicksUnsorted;
}

void launch_all(StepWriter& step, const std::vector<KernelCall>& kernels) {
  for (const KernelCall& kernel : kernels) {
    step.launch(kernel);
  }
}

}  // namespace

void token_embedding_forward(StepWriter& step, const TokenEmbeddingShape& shape) {
  step.op("aten::embedding",
          {{"indexSelectLargeIndex", step.types().model(),
            IndexSelect{.table_rows = shape.rows, .picks = shape.picks, .columns = shape.columns}}});
}

void token_embedding_gradient(StepWriter& step, const TokenEmbeddingShape& shape, DataType type) {
  step.program().begin("EmbeddingBackward0");
  const KernelCall zeros = kernels::fill(shape.rows * shape.columns, type);
  const EmbeddingBackward backward = step.framework().embedding_backward;
  if (shape.picks <= most_unsorted(backward)) {
    step.launch(zeros);
    step.launch(kernels::add_picked_rows(shape.picks, shape.columns, type));
  } else {
    launch_all(step, kernels::sort_picks(shape.picks));
    step.launch(zeros);
    launch_all(step, kernels::find_sorted_rows(shape.picks));
    if (backward != EmbeddingBackward::PyTorch112) {
      step.program().wait_stream(step.current());
    }
    launch_all(step, kernels::add_sorted_rows(shape.picks, shape.columns, type));
  }
  step.program().end();
}

void token_embedding_backward(StepWriter& step, const TokenEmbeddingShape& shape, GradientSink& gradients,
                              bool tied) {
  const std::int64_t elements = shape.rows * shape.columns;
  token_embedding_gradient(step, shape, step.types().model());
  if (tied) {
    step.op("aten::add", {kernels::add(elements, step.types().model())});
  }
  gradients.accumulate(elements);
}

}  // namespace lockstep
