#include "ops/workload/xlnet_step.hpp"

#include <fmt/format.h>

#include "ops/workload/element_count.hpp"
#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/token_embedding.hpp"

namespace lockstep {
namespace {

constexpr DataType kToken = DataType::INT64;

double share(DataType of, DataType in) {
  return size_of(of) / size_of(in);
}

TokenEmbeddingShape embedding_of(const XlnetSpec& spec, const XlnetLayerShape& layer) {
  return {.rows = spec.vocabulary, .columns = spec.hidden, .picks = layer.attention.rows()};
}

}  // namespace

XlnetStep::XlnetStep(StepWriter& step, const XlnetSpec& spec, const TrainingSetup& setup)
    : HuggingFaceStep{step, setup, local_batch(setup), {spec.parameters(), 0}},
      spec_{spec},
      layer_{spec.layer(local_batch(setup))},
      loss_{.batch = layer_.attention.batch,
            .sequence = spec.sequence,
            .classes = spec.vocabulary,
            .shifted = false},
      memory_{spec, layer_.attention.batch, step.types()} {}

/// Tokens, which of them are padding, their segments; labels.
void XlnetStep::copy_inputs() {
  if (spec_.input_on_device) {
    return;
  }
  const Bytes tokens = static_cast<double>(layer_.attention.rows()) * size_of(kToken);
  const int tensors = 1 + int{spec_.attention_mask} + int{spec_.segments} + int{is_training()};
  for (int tensor = 0; tensor < tensors; ++tensor) {
    loader_.copy(tokens,
                 spec_.blocking_input_copies ? BatchLoader::Copy::Blocking : BatchLoader::Copy::NonBlocking);
  }
}

/// An evaluation returns the input of every layer for a text that goes on (mems); training does not
/// (use_mems_train).
void XlnetStep::forward() {
  embeddings_forward();
  for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
    const ModuleRange module{step_, fmt::format("layer {}", layer)};
    keep(MemoryUse::Activations, memory_.kept_by_layer());
    keep(MemoryUse::Parameters, memory_.cast_weights_of_layer());
    if (!is_training()) {
      keep(MemoryUse::Workspace, memory_.cached_by_layer());
      step_.op("aten::slice");
      step_.op("aten::detach");
    }
    xlnet_layer_forward(step_, layer_);
  }
  head_forward();
  if (!is_training()) {
    free_caches();
  }
}

/// Frees what forward() kept, last first; autocast's weights go with it.
void XlnetStep::free_caches() {
  free(MemoryUse::Parameters, memory_.cast_weights_of_head());
  for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
    free(MemoryUse::Workspace, memory_.cached_by_layer());
    free(MemoryUse::Parameters, memory_.cast_weights_of_layer());
  }
  free(MemoryUse::Workspace, memory_.kept_by_embeddings());
}

void XlnetStep::embeddings_forward() {
  const ModuleRange module{step_, "embeddings"};
  const std::int64_t tokens = layer_.attention.rows();
  keep(is_training() ? MemoryUse::Activations : MemoryUse::Workspace, memory_.kept_by_embeddings());
  const int tensors = 1 + int{spec_.attention_mask} + int{spec_.segments};
  for (int tensor = 0; tensor < tensors; ++tensor) {  // samples become the second dimension
    step_.op("aten::transpose");
    if (layer_.attention.batch > 1) {
      step_.op("aten::contiguous", {kernels::strided_copy(tokens, kToken)});
    }
  }
  if (spec_.attention_mask) {
    mask_forward();
  }
  token_embedding_forward(step_, embedding_of(spec_, layer_));
  if (spec_.dropout) {
    dropout_forward(step_, layer_.attention.elements(), step_.types().model());
  }
  if (spec_.segments) {
    segments_forward();
  }
  distances_forward();
}

/// Masks padding, for each query, but no token for itself: an identity that the host makes.
void XlnetStep::mask_forward() {
  const std::int64_t tokens = layer_.attention.rows(), pairs = layer_.attention.pairs();
  const std::int64_t sequence = spec_.sequence, one = sequence * sequence;
  const DataType type = step_.types().model(), wide = DataType::FP32;
  const auto compare = [](std::int64_t elements, DataType of) {
    return kernels::elementwise("compare", elements, of, {.writes = share(DataType::BOOL, of)});
  };
  step_.op("aten::rsub", {kernels::by_offsets("rsub", tokens, kToken, {.writes = share(wide, kToken)})});
  step_.op("aten::gt", {compare(tokens, wide)});
  step_.op("aten::to", {kernels::cast(step_, tokens, DataType::BOOL, type)});
  step_.op("aten::eye");
  step_.blocking_copy("aten::to", kernels::copy_to_device(static_cast<double>(one) * size_of(type), false));
  step_.op("aten::neg", {kernels::scale(one, type)});
  const double reads = 1 / static_cast<double>(sequence) + 1 / static_cast<double>(layer_.attention.batch);
  step_.op("aten::add", {kernels::by_offsets("add", pairs, type, {.reads = reads})});
  step_.op("aten::gt", {compare(pairs, type)});
  step_.op("aten::to", {kernels::cast(step_, pairs, DataType::BOOL, type)});
}

/// Whether two tokens are of different segments, one-hot. With num_classes given the host reads nothing back.
void XlnetStep::segments_forward() {
  const std::int64_t pairs = layer_.attention.pairs(), all = layer_.attention.pair_segments();
  step_.op("aten::ne", {kernels::by_offsets("compare", pairs, kToken,
                                            {.reads = 2 / static_cast<double>(spec_.sequence),
                                             .writes = share(DataType::BOOL, kToken)})});
  step_.op("aten::to", {kernels::cast(step_, pairs, DataType::BOOL, kToken)});
  // One of two numbers side by side is written: the memory moves both.
  step_.op("aten::one_hot", {kernels::fill(all, kToken),
                             kernels::by_offsets("scatter_fill", pairs, kToken, {.writes = 2, .flops = 0})});
  step_.op("aten::to", {kernels::cast(step_, all, kToken, step_.types().model())});
}

/// On the host, which copies the result; with transformers 5 on the GPU.
void XlnetStep::distances_forward() {
  if (step_.framework().transformers == Transformers::V5) {
    distances_on_device();
    return;
  }
  for (const char* const name :
       {"aten::arange", "aten::to", "aten::div", "aten::pow", "aten::reciprocal", "aten::mul", "aten::arange",
        "aten::to", "aten::einsum", "aten::sin", "aten::cos", "aten::cat", "aten::slice", "aten::unsqueeze",
        "aten::slice", "aten::expand"}) {
    step_.op(name);
  }
  const std::int64_t all = layer_.attention.distances();
  const Bytes size = static_cast<double>(all) * size_of(DataType::FP32);
  step_.blocking_copy("aten::to", kernels::copy_to_device(size, false));
  if (spec_.dropout) {
    dropout_forward(step_, all, DataType::FP32);
  }
}

/// Made for one sample, in the products' type under autocast, and dropped of the others' views by offsets.
void XlnetStep::distances_on_device() {
  const std::int64_t half = spec_.hidden / 2, places = 2 * spec_.sequence, one = places * half;
  const DataType wide = DataType::FP32;
  const DataType type = step_.types().casts() ? storage_type(step_.precision()) : wide;
  const auto range = [&](std::int64_t elements) {
    step_.op("aten::arange", {{"elementwise_kernel_with_index<arange>", kToken,
                               Pointwise{.elements = elements, .reads = 0, .writes = 1, .flops = 1}}});
    step_.op("aten::to", {kernels::cast(step_, elements, kToken, wide)});
  };
  range(half);
  for (const char* const name : {"aten::div", "aten::pow", "aten::reciprocal", "aten::mul"}) {
    step_.op(name, {kernels::elementwise("distance", half, wide, {})});
  }
  range(places);
  step_.op("aten::einsum", {kernels::by_offsets("mul", one, type, {})});
  step_.op("aten::sin", {kernels::elementwise("sin", one, type, {.flops = 8})});
  step_.op("aten::cos", {kernels::elementwise("cos", one, type, {.flops = 8})});
  step_.op("aten::cat", {kernels::concat(2 * one, 2, type)});
  for (const char* const view : {"aten::slice", "aten::unsqueeze", "aten::expand"}) {
    step_.op(view);
  }
  if (spec_.dropout) {
    dropout_forward(step_, layer_.attention.distances(), type);
  }
}

LinearShape XlnetStep::output() const {
  return {.rows = layer_.attention.rows(), .in = spec_.hidden, .out = spec_.vocabulary};
}

void XlnetStep::head_forward() {
  const ModuleRange module{step_, "head"};
  const DataType type = step_.types().model();
  keep(MemoryUse::Activations, memory_.kept_by_head());
  keep(MemoryUse::Parameters, memory_.cast_weights_of_head());
  if (spec_.dropout) {
    dropout_forward(step_, layer_.attention.elements(), type);
  }
  step_.op("aten::permute");
  if (layer_.attention.batch > 1) {
    step_.op("aten::contiguous", {kernels::strided_copy(layer_.attention.elements(), type)});
  }
  linear_forward(step_, output(), true);
}

void XlnetStep::loss_forward() {
  keep(MemoryUse::Workspace, memory_.loss_forward());
  cross_entropy_forward(step_, loss_);
  free(MemoryUse::Workspace, memory_.loss_forward());
}

void XlnetStep::loss_and_model_backward(GradientSink& gradients) {
  keep(MemoryUse::Workspace, memory_.loss_backward());
  cross_entropy_backward(step_, loss_);
  free(MemoryUse::Workspace, memory_.loss_backward());
  head_backward(gradients);
  free(MemoryUse::Parameters, memory_.cast_weights_of_head());
  free(MemoryUse::Activations, memory_.kept_by_head());
  const std::vector<std::int64_t> of_layer = parameters_of(layer_);
  for (std::int64_t layer = spec_.layers; layer-- > 0;) {
    const ModuleRange module{step_, fmt::format("layer {}", layer)};
    allocate_gradients(elements_of(of_layer));
    xlnet_layer_backward(step_, layer_, gradients);
    free(MemoryUse::Parameters, memory_.cast_weights_of_layer());
    free(MemoryUse::Activations, memory_.kept_by_layer());
  }
  const ModuleRange module{step_, "embeddings"};
  if (spec_.dropout) {
    dropout_backward(step_, layer_.attention.elements(), step_.types().model());
  }
  token_embedding_backward(step_, embedding_of(spec_, layer_), gradients, true);
  free(MemoryUse::Activations, memory_.kept_by_embeddings());
}

/// The gradient comes with samples outermost: dropout, or the norm before it, reads it strided.
void XlnetStep::head_backward(GradientSink& gradients) {
  const ModuleRange module{step_, "head"};
  const DataType type = step_.types().model();
  const std::int64_t elements = layer_.attention.elements();
  const bool is_strided = layer_.attention.batch > 1;
  allocate_gradients(table() + spec_.vocabulary);
  tied_output_backward(step_, output(), gradients);
  step_.op("CloneBackward0");
  step_.op("PermuteBackward0");
  if (spec_.dropout && is_strided) {
    step_.op("NativeDropoutBackward0",
             {kernels::by_offsets("masked_scale", elements, type,
                                  {.reads = 1 + share(DataType::BOOL, type), .flops = 2})});
  } else if (spec_.dropout) {
    dropout_backward(step_, elements, type);
  } else if (is_strided) {
    step_.op("aten::contiguous", {kernels::strided_copy(elements, type)});
  }
}

}  // namespace lockstep
