#include "ops/workload/compiled/compiled_transformer.hpp"

#include <numeric>

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/compiled/triton_kernels.hpp"
#include "ops/workload/layers/classifier.hpp"

namespace lockstep {
namespace {

constexpr int kMostReads = 4;  // torch/_inductor/config.py, realize_reads_threshold
constexpr double kDropoutFlops = 10;

std::int64_t sum_of(const std::vector<std::int64_t>& parameters) {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
}

}  // namespace

CompiledTransformer::CompiledTransformer(StepWriter& step, const TransformerSpec& spec,
                                         const BlockShape& block, const CrossEntropyShape& loss,
                                         bool is_training)
    : step_{step},
      spec_{spec},
      block_{block},
      loss_{loss},
      is_training_{is_training},
      model_{step.types().model()},
      products_{storage_type(step.precision())},
      begins_(static_cast<std::size_t>(spec.layers), false) {}

bool CompiledTransformer::has_fused_attention() const {
  return block_.attention != AttentionKernels::Unfused || (is_bert() && !step_.types().casts());
}

double CompiledTransformer::mask_part(DataType type) const {
  return spec_.dropout ? size_of(DataType::BOOL) / size_of(type) : 0;
}

void CompiledTransformer::cut(const BucketLimits& limits) {
  if (step_.ranks() == 1) {
    return;
  }
  const Bytes element = size_of(model_);
  Bytes open, limit = limits.first;
  for (std::int64_t layer = spec_.layers; layer-- > 0;) {
    open += element * static_cast<double>(sum_of(parameters_of(block_)));
    if (open >= limit) {
      begins_[static_cast<std::size_t>(layer)] = true;
      open = Bytes{0};
      limit = limits.others;
    }
  }
}

void CompiledTransformer::begin_graph(std::string_view name) {
  step_.program().begin(name);
  if (step_.framework().compile == Compile::CudaGraphs) {
    step_.begin_cuda_graph();
  }
}

void CompiledTransformer::end_graph() {
  step_.end_cuda_graph();
  step_.program().end();
}

void CompiledTransformer::next_backward_graph(GradientSink& gradients) {
  end_graph();
  gradients.release();
  gradients.hold();
  begin_graph(kCompiledBackward);
}

/// Weights are cast in every step; the bias too where the product adds it.
void CompiledTransformer::linear(std::int64_t rows, std::int64_t in, std::int64_t out, bool bias_is_fused) {
  if (step_.types().casts()) {
    const double narrow = size_of(products_) / size_of(DataType::FP32);
    step_.launch(triton::pointwise("_to_copy", in * out, DataType::FP32, {.writes = narrow}));
    if (!bias_is_fused) {
      step_.launch(triton::pointwise("_to_copy", out, DataType::FP32, {.writes = narrow}));
    }
  }
  step_.launch(kernels::product(
      {.batch = 1, .m = rows, .n = out, .k = in, .transpose_b = block_.kind != BlockKind::Gpt},
      product_type(step_.precision())));
}

/// @param reads, writes in tensors of the model's type; all are read again for the result.
void CompiledTransformer::layer_norm(std::string_view what, double reads, double writes) {
  step_.launch(triton::over_rows(
      what, LayerNorm{.rows = block_.rows(), .columns = block_.hidden, .fused = {reads, writes, reads}},
      model_));
}

/// The result for the product and, for backward, the normalised input; the stream where it has come to depend
/// on too many buffers: a layer's result is one, its bias or mask another.
void CompiledTransformer::norm_forward() {
  const int of_result = is_training_ && !spec_.dropout ? 1 : 2;
  const double mask = mask_part(model_);
  const int drawn = added_ - (drops_last_ ? 1 : 0);
  const double reads = stream_tensors_ + part(products_) * added_ + mask * drawn;
  double writes = part(products_) + (is_training_ ? 1 : 0) + (drops_last_ ? mask : 0);
  drops_last_ = false;
  if (stream_buffers_ + added_ * of_result > kMostReads) {
    writes += 1;
    stream_tensors_ = 1;
    stream_buffers_ = 1;
    added_ = 0;
  }
  layer_norm("add_native_layer_norm", reads, writes);
}

/// The result stays in the model's type for the next sum, and is cast for the product.
void CompiledTransformer::add_norm_forward() {
  const double narrow = step_.types().casts() ? part(products_) : 0;
  layer_norm("add_native_layer_norm", part(products_) + 1,
             1 + narrow + (is_training_ ? 1 + mask_part(model_) : 0));
}

void CompiledTransformer::embeddings_forward() {
  const std::int64_t elements = block_.elements();
  const double looked_up = 1 + 1.0 / static_cast<double>(block_.batch);  // all samples share the positions
  if (is_bert()) {
    const double narrow = step_.types().casts() ? part(products_) : 0;
    layer_norm("add_embedding_native_layer_norm", looked_up,
               1 + narrow + (is_training_ ? 1 + mask_part(model_) : 0));
    return;
  }
  if (!is_training_ && !normalises_last()) {  // the first two norms look up for themselves
    stream_tensors_ = looked_up;
    stream_buffers_ = 3;  // tokens and two tables
    added_ = 0;
    return;
  }
  if (!block_.is_plain()) {  // whose positions are a buffer
    step_.launch(triton::pointwise("view", block_.sequence, DataType::INT64, {.reads = 0}));
  }
  step_.launch(triton::pointwise(
      "add_embedding_native_dropout", elements, model_,
      {.reads = looked_up, .writes = 1 + mask_part(model_), .flops = spec_.dropout ? kDropoutFlops : 1}));
  stream_tensors_ = 1;
  stream_buffers_ = 1;
  added_ = 0;
}

void CompiledTransformer::projections_forward() {
  const std::int64_t rows = block_.rows(), h = block_.hidden;
  if (block_.packs_projections()) {
    linear(rows, h, 3 * h, false);
    return;
  }
  for (int projection = 0; projection < 3; ++projection) {
    linear(rows, h, h, !is_training_);
  }
}

/// Forward leaves the result and, of gelu_new in training, the tanh, in the type in which autocast computes
/// it.
void CompiledTransformer::gelu_forward() {
  const bool composed = block_.gelu == Gelu::Composed;
  const double tanh = composed && is_training_ ? size_of(model_) / size_of(products_) : 0;
  step_.launch(triton::pointwise(
      composed ? "add_mul_pow_tanh" : "gelu", block_.rows() * block_.feed_forward, products_,
      {.writes = 1 + tanh, .flops = (composed ? kTanhGeluForward : forward_work(block_.gelu)).flops}));
}

void CompiledTransformer::block_forward() {
  const std::int64_t rows = block_.rows(), h = block_.hidden, f = block_.feed_forward;
  const bool fused = !is_training_;  // else the result is kept with its bias, which the product then adds
  const auto added = [&] {
    ++added_;
    drops_last_ = spec_.dropout;
  };
  if (!normalises_last()) {
    norm_forward();
  }
  projections_forward();
  attention_forward();
  linear(rows, h, h, fused);
  added();
  normalises_last() ? add_norm_forward() : norm_forward();
  linear(rows, h, f, fused);
  gelu_forward();
  linear(rows, f, h, fused);
  added();
  if (normalises_last()) {
    add_norm_forward();
  }
}

void CompiledTransformer::head_forward() {
  const std::int64_t rows = block_.rows(), h = spec_.hidden;
  if (spec_.classes) {
    classifier_forward(step_, block_, spec_.classifier());
    return;
  }
  if (is_bert()) {  // a dense layer, whose GELU is part of the norm
    linear(rows, h, h, !is_training_);
    layer_norm("gelu_native_layer_norm", part(products_), part(products_) + (is_training_ ? 1 : 0));
  } else if (normalises_last()) {  // of the last norm's result
    layer_norm("native_layer_norm", 1, part(products_) + (is_training_ ? 1 : 0));
  } else {
    norm_forward();
  }
  if (step_.types().casts()) {
    step_.launch(triton::pointwise("_to_copy", h * spec_.vocabulary, DataType::FP32,
                                   {.writes = size_of(products_) / size_of(DataType::FP32)}));
  }
  const DataType type = product_type(step_.precision());  // padding is part of the weight's cast
  const std::int64_t columns = triton::padded_for_tensor_cores(spec_.vocabulary, type);
  step_.launch(kernels::product({.batch = 1, .m = rows, .n = columns, .k = h, .transpose_b = true}, type));
}

/// Log-softmax in FP32 of the logits, read where they are, or its sums alone, then the mean of what the
/// labels pick.
void CompiledTransformer::loss_forward() {
  const double logits = size_of(products_) / size_of(DataType::FP32);
  step_.launch(stores_log_softmax() ? triton::over_rows("_log_softmax",
                                                        Softmax{.rows = loss_.rows(),
                                                                .columns = loss_.classes,
                                                                .logarithm = true,
                                                                .fused = {logits, 1, 2 * logits}},
                                                        DataType::FP32)
                                    : triton::online_softmax(loss_.rows(), loss_.classes, products_));
  step_.launch(triton::mean_of_picks(loss_.rows()));
}

}  // namespace lockstep
