#include "ops/workload/layers/token_embedding.hpp"

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

constexpr int kSortPasses = 8;  // of 8 bits: keys are whole int64

KernelCall zeros(const StepWriter& step, const TokenEmbeddingShape& shape) {
  return kernels::fill(shape.rows * shape.columns, step.types().model());
}

/// Sort by row, find where rows begin, sum partial segments, add them up.
void write_sorted(StepWriter& step, const TokenEmbeddingShape& shape) {
  step.launch(over_picks("elementwise_kernel_with_index<arange>", shape.picks, 0, 1));
  step.launch(over_picks("DeviceRadixSortHistogramKernel", shape.picks, 1, 0));
  step.launch(over_picks("DeviceRadixSortExclusiveSumKernel", 1, 1, 1));
  for (int pass = 0; pass < kSortPasses; ++pass) {
    step.launch(over_picks("DeviceRadixSortOnesweepKernel", shape.picks, 2, 2));
  }
  step.launch(zeros(step, shape));
  step.launch(over_picks("DeviceCompactInitKernel", 1, 0, 1));
  step.launch(over_picks("DeviceUniqueByKeyKernel", shape.picks, 1, 1));
  if (step.framework().embedding_backward != EmbeddingBackward::PyTorch112) {
    step.program().wait_stream(step.current());
  }
  step.launch(over_picks("krn_partials_per_segment", shape.picks, 1, 1));
  step.launch(over_picks("DeviceScanInitKernel", 1, 0, 1));
  step.launch(over_picks("DeviceScanKernel", shape.picks, 1, 1));
  step.launch(over_picks("compute_num_of_partial_segments", 1, 1, 1));
  step.launch(over_picks("krn_partial_segment_offset", shape.picks, 1, 1));
  step.launch(add_rows(step, "compute_grad_weight", shape));
  step.launch(add_rows(step, "sum_and_scatter", shape));
}

}  // namespace

void token_embedding_forward(StepWriter& step, const TokenEmbeddingShape& shape) {
  step.op("aten::embedding",
          {{"indexSelectLargeIndex", step.types().model(),
            IndexSelect{.table_rows = shape.rows, .picks = shape.picks, .columns = shape.columns}}});
}

void token_embedding_gradient(StepWriter& step, const TokenEmbeddingShape& shape) {
  step.program().begin("EmbeddingBackward0");
  if (shape.picks <= most_unsorted(step.framework().embedding_backward)) {
    step.launch(zeros(step, shape));
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
