// TransformerStep where the model is compiled.
#include <fmt/format.h>

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/element_count.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/transformer_step.hpp"

namespace lockstep {

/// Forward and, in training, the loss. A CUDA graph reads its inputs where they were when it was captured.
void TransformerStep::compiled_forward() {
  CompiledTransformer& model = *compiled_;
  model.begin_graph(kCompiledRegion);
  if (step_.framework().compile == Compile::CudaGraphs) {
    const Bytes tokens = static_cast<double>(block_.rows()) * size_of(DataType::INT64);
    step_.launch(kernels::copy_on_device(tokens * (is_training() ? 2.0 : 1.0)));
  }
  keep(MemoryUse::Activations, memory_.kept_by_embeddings());
  model.embeddings_forward();
  for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
    if (model.graph_begins_at(layer)) {
      model.end_graph();
      model.begin_graph(kCompiledForward);
    }
    const ModuleRange module{step_, fmt::format("layer {}", layer)};
    keep(MemoryUse::Activations, memory_.kept_by_block());
    keep(MemoryUse::Parameters, memory_.cast_weights_of_block());
    model.block_forward();
  }
  keep(MemoryUse::Activations, memory_.kept_by_head());
  keep(MemoryUse::Parameters, memory_.cast_weights_of_head());
  {
    const ModuleRange module{step_, "head"};
    model.head_forward();
  }
  if (is_training() && !has_eager_loss()) {
    const ModuleRange module{step_, "loss"};
    model.loss_forward();
  }
  model.end_graph();
}

/// Writes the eager pass, but gradients appear when their graph ends.
void TransformerStep::compiled_backward(GradientSink& gradients) {
  CompiledTransformer& model = *compiled_;
  const std::vector<std::int64_t> of_block = parameters_of(block_);
  const std::int64_t block_elements = elements_of(of_block);
  keep(MemoryUse::Workspace, memory_.loss_backward());
  if (has_eager_loss()) {
    cross_entropy_backward(step_, loss_);
  }
  gradients.hold();
  model.begin_graph(kCompiledBackward);
  if (!has_eager_loss()) {
    model.loss_backward();
  }
  free(MemoryUse::Workspace, memory_.loss_backward());
  {
    const ModuleRange module{step_, "head"};
    model.head_backward(gradients);
  }
  free(MemoryUse::Parameters, memory_.cast_weights_of_head());
  free(MemoryUse::Activations, memory_.kept_by_head());
  allocate_gradients(trained_parameters() - parameters_of_blocks());
  for (std::int64_t layer = spec_.layers; layer-- > 0;) {
    {
      const ModuleRange module{step_, fmt::format("layer {}", layer)};
      allocate_gradients(block_elements);
      model.block_backward(gradients);
    }
    free(MemoryUse::Parameters, memory_.cast_weights_of_block());
    free(MemoryUse::Activations, memory_.kept_by_block());
    if (model.graph_begins_at(layer)) {
      model.next_backward_graph(gradients);
    }
  }
  {
    const ModuleRange module{step_, "embeddings"};
    model.embeddings_backward(gradients);
  }
  free(MemoryUse::Activations, memory_.kept_by_embeddings());
  model.end_graph();
  gradients.release();
}

}  // namespace lockstep
