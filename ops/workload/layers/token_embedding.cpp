#include "ops/workload/layers/token_embedding.hpp"

#include <cmath>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

std::int64_t most_unsorted(EmbeddingBackward backward) {
  return backward == EmbeddingBackward::PyTorch17 ? 768 : 3072;
}

KernelCall over_picks(const char* name, std::int64_t picks, double reads, double writes) {
  return {name, DataType::INT64, Pointwise{.elements = picks, .reads = reads, .writes = writes, .flops = 1}};
}

KernelCall add_rows(const StepWriter& step, const char* name, const TokenEmbeddingShape& shape) {
  return {name, step.types().model(),
          IndexSelect{.table_rows = shape.rows,
                      .picks = shape.picks,
                      .columns = shape.columns,
                      .direction = Direction::Backward}};
}

/// Sort by row (8 bits a pass), find where rows begin, sum partial segments, add them up.
void write_sorted(StepWriter& step, const TokenEmbeddingShape& shape) {
  step.launch(over_picks("elementwise_kernel_with_index<arange>", shape.picks, 0, 1));
  step.launch(over_picks("DeviceRadixSortHistogramKernel", shape.picks, 1, 0));
  const int passes = std::max(1, static_cast<int>(std::ceil(std::log2(static_cast<double>(shape.rows)) / 8)));
  for (int pass = 0; pass < passes; ++pass) {
    step.launch(over_picks("DeviceRadixSortOnesweepKernel", shape.picks, 2, 2));
  }
  step.launch(over_picks("DeviceUniqueByKeyKernel", shape.picks, 1, 1));
  if (step.framework().embedding_backward != EmbeddingBackward::PyTorch112) {
    step.program().wait_stream(step.current());
  }
  step.launch(over_picks("krn_partials_per_segment", shape.picks, 1, 1));
  step.launch(over_picks("DeviceScanKernel", shape.picks, 1, 1));
  step.launch(over_picks("krn_partial_segment_offset", shape.picks, 1, 1));
  step.launch(add_rows(step, "compute_grad_weight", shape));
  step.launch(over_picks("sum_and_scatter", shape.picks, 1, 1));
}

}  // namespace

void token_embedding_forward(StepWriter& step, const TokenEmbeddingShape& shape) {
  step.op("aten::embedding",
          {{"indexSelectLargeIndex", step.types().model(),
            IndexSelect{.table_rows = shape.rows, .picks = shape.picks, .columns = shape.columns}}});
}

void token_embedding_gradient(StepWriter& step, const TokenEmbeddingShape& shape) {
  step.program().begin("EmbeddingBackward0");
  step.launch(kernels::fill(shape.rows * shape.columns, step.types().model()));
  if (shape.picks <= most_unsorted(step.framework().embedding_backward)) {
    step.launch(add_rows(step, "embedding_backward_feature_kernel", shape));
  } else {
    write_sorted(step, shape);
  }
  step.program().end();
}

void token_embedding_backward(StepWriter& step, const TokenEmbeddingShape& shape, GradientSink& gradients,
                              bool tied) {
  const std::int64_t elements = shape.rows * shape.columns;
  token_embedding_gradient(step, shape);
  if (tied) {
    step.op("aten::add", {kernels::add(elements, step.types().model())});
  }
  gradients.accumulate(elements);
}

}  // namespace lockstep
