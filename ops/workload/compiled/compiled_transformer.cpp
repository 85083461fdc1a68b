#include "ops/workload/compiled/compiled_transformer.hpp"

#include <numeric>

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/compiled/triton_kernels.hpp"
#include "ops/workload/layers/classifier.hpp"

namespace lockstep {
namespace {

constexpr double kDropoutFlops = 10;

std::int64_t sum_of(const std::vector<std::int64_t>& parameters) {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
}

}  // namespace

CompiledTransformer::CompiledTransformer(StepWriter& step, const TransformerSpec& spec,
                                         const BlockShape& block, const CrossEntropyShape& loss,
                                         bool is_training)
    : shape_{step, spec, block, loss, is_training, step.types().model(), storage_type(step.precision())},
      stream_{shape_},
      attention_{shape_},
      begins_(static_cast<std::size_t>(spec.layers), false) {}

void CompiledTransformer::cut(const BucketLimits& limits) {
  if (shape_.step.ranks() == 1) {
    return;
  }
  const Bytes element = size_of(shape_.model);
  Bytes open, limit = limits.first;
  for (std::int64_t layer = shape_.spec.layers; layer-- > 0;) {
    open += element * static_cast<double>(sum_of(parameters_of(shape_.block)));
    if (open >= limit) {
      begins_[static_cast<std::size_t>(layer)] = true;
      open = Bytes{0};
      limit = limits.others;
    }
  }
}

void CompiledTransformer::begin_graph(std::string_view name) {
  shape_.step.program().begin(name);
  if (shape_.step.framework().compile == Compile::CudaGraphs) {
    shape_.step.begin_cuda_graph();
  }
}

void CompiledTransformer::end_graph() {
  shape_.step.end_cuda_graph();
  shape_.step.program().end();
}

void CompiledTransformer::next_backward_graph(GradientSink& gradients) {
  end_graph();
  gradients.release();
  gradients.hold();
  begin_graph(kCompiledBackward);
}

/// Weights are cast in every step; the bias too where the product adds it.
void CompiledTransformer::linear(std::int64_t rows, std::int64_t in, std::int64_t out, bool bias_is_fused) {
  if (shape_.step.types().casts()) {
    const double narrow = size_of(shape_.products) / size_of(DataType::FP32);
    shape_.step.launch(triton::pointwise("_to_copy", in * out, DataType::FP32, {.writes = narrow}));
    if (!bias_is_fused) {
      shape_.step.launch(triton::pointwise("_to_copy", out, DataType::FP32, {.writes = narrow}));
    }
  }
  shape_.step.launch(kernels::product(
      {.batch = 1, .m = rows, .n = out, .k = in, .transpose_b = shape_.block.kind != BlockKind::Gpt},
      product_type(shape_.step.precision())));
}

/// @param reads, writes in tensors of the model's type; all are read again for the result.
void CompiledTransformer::layer_norm(std::string_view what, double reads, double writes) {
  shape_.step.launch(triton::over_rows(
      what,
      LayerNorm{.rows = shape_.block.rows(), .columns = shape_.block.hidden, .fused = {reads, writes, reads}},
      shape_.model));
}

void CompiledTransformer::norm_forward() {
  const ResidualStream::Traffic traffic = stream_.normalised();
  layer_norm("add_native_layer_norm", traffic.reads, traffic.writes);
}

/// The result stays in the model's type for the next sum, and is cast for the product.
void CompiledTransformer::add_norm_forward() {
  const double narrow = shape_.step.types().casts() ? shape_.part(shape_.products) : 0;
  layer_norm("add_native_layer_norm", shape_.part(shape_.products) + 1,
             1 + narrow + (shape_.is_training ? 1 + shape_.mask_part(shape_.model) : 0));
}

void CompiledTransformer::embeddings_forward() {
  const std::int64_t elements = shape_.block.elements();
  const double looked_up =
      1 + 1.0 / static_cast<double>(shape_.block.batch);  // all samples share the positions
  if (shape_.is_bert()) {
    const double narrow = shape_.step.types().casts() ? shape_.part(shape_.products) : 0;
    layer_norm("add_embedding_native_layer_norm", looked_up,
               1 + narrow + (shape_.is_training ? 1 + shape_.mask_part(shape_.model) : 0));
    return;
  }
  if (!shape_.is_training && !shape_.normalises_last()) {  // the first two norms look up for themselves
    stream_.looked_up(looked_up);
    return;
  }
  if (!shape_.block.is_plain()) {  // whose positions are a buffer
    shape_.step.launch(triton::pointwise("view", shape_.block.sequence, DataType::INT64, {.reads = 0}));
  }
  shape_.step.launch(triton::pointwise("add_embedding_native_dropout", elements, shape_.model,
                                       {.reads = looked_up,
                                        .writes = 1 + shape_.mask_part(shape_.model),
                                        .flops = shape_.spec.dropout ? kDropoutFlops : 1}));
  stream_.written();
}

void CompiledTransformer::projections_forward() {
  const std::int64_t rows = shape_.block.rows(), h = shape_.block.hidden;
  if (shape_.block.packs_projections()) {
    linear(rows, h, 3 * h, false);
    return;
  }
  for (int projection = 0; projection < 3; ++projection) {
    linear(rows, h, h, !shape_.is_training);
  }
}

/// Forward leaves the result and, of gelu_new in training, the tanh, in the type in which autocast computes
/// it.
void CompiledTransformer::gelu_forward() {
  const bool composed = shape_.block.gelu == Gelu::Composed;
  const double tanh = composed && shape_.is_training ? size_of(shape_.model) / size_of(shape_.products) : 0;
  shape_.step.launch(triton::pointwise(
      composed ? "add_mul_pow_tanh" : "gelu", shape_.block.rows() * shape_.block.feed_forward,
      shape_.products,
      {.writes = 1 + tanh, .flops = (composed ? kTanhGeluForward : forward_work(shape_.block.gelu)).flops}));
}

void CompiledTransformer::block_forward() {
  const std::int64_t rows = shape_.block.rows(), h = shape_.block.hidden, f = shape_.block.feed_forward;
  const bool fused =
      !shape_.is_training;  // else the result is kept with its bias, which the product then adds
  if (!shape_.normalises_last()) {
    norm_forward();
  }
  projections_forward();
  attention_.forward();
  linear(rows, h, h, fused);
  stream_.add();
  shape_.normalises_last() ? add_norm_forward() : norm_forward();
  linear(rows, h, f, fused);
  gelu_forward();
  linear(rows, f, h, fused);
  stream_.add();
  if (shape_.normalises_last()) {
    add_norm_forward();
  }
}

void CompiledTransformer::head_forward() {
  const std::int64_t rows = shape_.block.rows(), h = shape_.spec.hidden;
  if (shape_.spec.classes) {
    classifier_forward(shape_.step, shape_.block, shape_.spec.classifier());
    return;
  }
  if (shape_.is_bert()) {  // a dense layer, whose GELU is part of the norm
    linear(rows, h, h, !shape_.is_training);
    layer_norm("gelu_native_layer_norm", shape_.part(shape_.products),
               shape_.part(shape_.products) + (shape_.is_training ? 1 : 0));
  } else if (shape_.normalises_last()) {  // of the last norm's result
    layer_norm("native_layer_norm", 1, shape_.part(shape_.products) + (shape_.is_training ? 1 : 0));
  } else {
    norm_forward();
  }
  if (shape_.step.types().casts()) {
    shape_.step.launch(triton::pointwise("_to_copy", h * shape_.spec.vocabulary, DataType::FP32,
                                         {.writes = size_of(shape_.products) / size_of(DataType::FP32)}));
  }
  const DataType type = product_type(shape_.step.precision());  // padding is part of the weight's cast
  const std::int64_t columns = triton::padded_for_tensor_cores(shape_.spec.vocabulary, type);
  shape_.step.launch(
      kernels::product({.batch = 1, .m = rows, .n = columns, .k = h, .transpose_b = true}, type));
}

/// Log-softmax in FP32 of the logits, read where they are, or its sums alone, then the mean of what the
/// labels pick.
void CompiledTransformer::loss_forward() {
  const double logits = size_of(shape_.products) / size_of(DataType::FP32);
  shape_.step.launch(shape_.stores_log_softmax()
                         ? triton::over_rows("_log_softmax",
                                             Softmax{.rows = shape_.loss.rows(),
                                                     .columns = shape_.loss.classes,
                                                     .logarithm = true,
                                                     .fused = {logits, 1, 2 * logits}},
                                             DataType::FP32)
                         : triton::online_softmax(shape_.loss.rows(), shape_.loss.classes, shape_.products));
  shape_.step.launch(triton::mean_of_picks(shape_.loss.rows()));
}

}  // namespace lockstep
