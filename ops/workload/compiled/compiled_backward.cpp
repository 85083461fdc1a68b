// Backward of CompiledTransformer.
#include <string>

#include "ops/workload/compiled/compiled_transformer.hpp"
#include "ops/workload/compiled/triton_kernels.hpp"
#include "ops/workload/layers/classifier.hpp"
#include "ops/workload/layers/token_embedding.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kRowsAtOnce = 1024;  // sums of fewer rows need no second kernel
constexpr double kGeluNewBackward = 20;     // products and sums; its tanh is kept

}  // namespace

void CompiledTransformer::cast_weight_gradient(std::int64_t elements) {
  if (shape_.step.types().casts()) {
    shape_.step.launch(
        triton::pointwise("_to_copy", elements, shape_.products,
                          {.writes = size_of(shape_.model) / size_of(shape_.products), .flops = 0}));
  }
}

void CompiledTransformer::linear_backward(std::int64_t rows, std::int64_t in, std::int64_t out,
                                          GradientSink& gradients) {
  const DataType type = product_type(shape_.step.precision());
  shape_.step.launch(kernels::product({.batch = 1, .m = rows, .n = in, .k = out}, type));
  shape_.step.launch(kernels::product({.batch = 1, .m = out, .n = in, .k = rows, .transpose_a = true}, type));
  triton::sum_columns(shape_.step, rows, out, shape_.products);
  cast_weight_gradient(in * out);
  gradients.accumulate(out);
  gradients.accumulate(in * out);
}

/// The gradient of the input with what follows it, then those of gain and bias.
/// @param gradients_read of the result, in tensors of the model's type
/// @param other_reads that of the stream beside, and whatever else is fused
/// @param drops a dropout comes next (in backward's order)
void CompiledTransformer::norm_backward(std::string_view what, double gradients_read, double other_reads,
                                        bool drops, GradientSink& gradients) {
  const std::int64_t rows = shape_.block.rows(), columns = shape_.block.hidden;
  const double both = gradients_read + 1;  // and the normalised input
  const bool passes_on = drops || shape_.step.types().casts();
  const double mask = drops ? shape_.mask_part(shape_.model) : 0;
  shape_.step.launch(triton::over_rows(
      what,
      LayerNorm{
          .rows = rows,
          .columns = columns,
          .part = LayerNorm::Part::InputGradient,
          .fused = {both + other_reads + mask, 1 + (passes_on ? shape_.part(shape_.products) : 0), both}},
      shape_.model));
  shape_.step.launch(triton::over_rows("native_layer_norm_backward",
                                       LayerNorm{.rows = rows,
                                                 .columns = columns,
                                                 .part = LayerNorm::Part::ParameterGradient,
                                                 .fused = {both, 0, 0}},
                                       shape_.model));
  for (int parameter = 0; rows > kRowsAtOnce && parameter < 2; ++parameter) {
    triton::sum_pieces(shape_.step, rows, columns);
  }
  gradients.accumulate(columns);  // gain
  gradients.accumulate(columns);  // bias
}

void CompiledTransformer::gelu_backward() {
  const bool composed = shape_.block.gelu == Gelu::Composed;
  const double tanh = composed ? size_of(shape_.model) / size_of(shape_.products) : 0;
  shape_.step.launch(triton::pointwise(
      composed ? "add_mul_pow_tanh_backward" : "gelu_gelu_backward",
      shape_.block.rows() * shape_.block.feed_forward, shape_.products,
      {.reads = 2 + tanh, .flops = composed ? kGeluNewBackward : backward_work(shape_.block.gelu).flops}));
}

/// A stored log-softmax meets the loss's gradient spread out in FP32. One that is recomputed is a kernel
/// alone, whose sum of a row of that gradient reads nothing: softmax of the logits less one where the label
/// is.
void CompiledTransformer::loss_backward() {
  const std::int64_t all = shape_.block.rows() * shape_.spec.vocabulary,
                     judged = shape_.loss.rows() * shape_.loss.classes;
  const std::int64_t returned = shape_.spec.classes ? judged : all;
  const double narrow = size_of(shape_.products) / size_of(DataType::FP32);
  const double share = static_cast<double>(judged) / static_cast<double>(returned);
  const bool stores = shape_.stores_log_softmax();
  const std::string name = stores ? "_log_softmax_backward_data_nll_loss_backward"
                                  : "_log_softmax__log_softmax_backward_data_nll_loss_backward";
  shape_.step.launch(kernels::fill(returned, shape_.products));  // autograd's, of the returned logits
  if (stores) {
    shape_.step.launch(
        triton::pointwise("nll_loss_backward", judged, DataType::FP32, {.reads = 0, .flops = 0}));
    shape_.step.launch(triton::pointwise("nll_loss_backward", shape_.loss.rows(), DataType::INT64, {}));
    shape_.step.launch(kernels::elementwise("scatter", shape_.loss.rows(), DataType::INT64, {}));
  }
  if (!shape_.loss.shifted) {
    shape_.step.launch(stores ? triton::over_rows(name,
                                                  Softmax{.rows = shape_.loss.rows(),
                                                          .columns = shape_.loss.classes,
                                                          .direction = Direction::Backward,
                                                          .logarithm = true,
                                                          .fused = {2 + narrow, narrow, 1}},
                                                  DataType::FP32)
                              : triton::online_softmax_gradient(shape_.loss.rows(), shape_.loss.classes,
                                                                shape_.products, 1));
    return;
  }
  if (stores) {  // other rows than those of the logits: sums, then the result
    shape_.step.launch({"triton_red_fused_" + name, DataType::FP32,
                        Pointwise{.elements = judged, .reads = 1, .writes = 0, .flops = 2}});
  }
  shape_.step.launch(
      triton::pointwise(stores ? "add_slice_backward" : name + "_slice_backward", returned, DataType::FP32,
                        {.reads = narrow + share * (stores ? 2 : narrow), .writes = narrow, .flops = 4}));
}

void CompiledTransformer::head_backward(GradientSink& gradients) {
  follows_head_ = true;
  if (shape_.spec.classes) {
    classifier_backward(shape_.step, shape_.block, shape_.spec.classifier(), gradients);
    return;
  }
  const std::int64_t rows = shape_.block.rows(), h = shape_.spec.hidden;
  const DataType type = product_type(shape_.step.precision());
  const std::int64_t v = triton::padded_for_tensor_cores(shape_.spec.vocabulary, type);
  for (int product = 0; v > shape_.spec.vocabulary && product < 2; ++product) {
    shape_.step.launch(
        triton::pointwise("constant_pad_nd", rows * v, shape_.products, {}));  // each its own copy
  }
  shape_.step.launch(kernels::product({.batch = 1, .m = v, .n = h, .k = rows, .transpose_a = true}, type));
  shape_.step.launch(kernels::product({.batch = 1, .m = rows, .n = h, .k = v}, type));
  if (!shape_.is_bert()) {  // the dropout behind a norm that comes last is beyond that norm
    norm_backward("native_dropout_backward_native_layer_norm_backward", shape_.part(shape_.products), 0,
                  shape_.spec.dropout && !shape_.normalises_last(), gradients);
    return;
  }
  triton::sum_columns(shape_.step, rows, shape_.spec.vocabulary, shape_.products);
  gradients.accumulate(shape_.spec.vocabulary);
  norm_backward("gelu_gelu_backward_native_layer_norm_backward", shape_.part(shape_.products),
                shape_.part(shape_.products), false, gradients);
  linear_backward(rows, h, h, gradients);
}

void CompiledTransformer::projections_backward(GradientSink& gradients) {
  const std::int64_t rows = shape_.block.rows(), h = shape_.block.hidden;
  if (shape_.block.packs_projections()) {
    linear_backward(rows, h, 3 * h, gradients);
    return;
  }
  for (int projection = 0; projection < 3; ++projection) {
    linear_backward(rows, h, h, gradients);
  }
}

/// Norms first: each norm's kernel adds the gradient of the stream. Norms last: the sum of what reads the
/// norm's result comes first: projections and the stream, or a product and the stream, or what the head
/// leaves.
void CompiledTransformer::block_backward(GradientSink& gradients) {
  const std::int64_t rows = shape_.block.rows(), h = shape_.block.hidden, f = shape_.block.feed_forward;
  const char* const name = "add_native_dropout_backward_native_layer_norm_backward";
  const double projections = shape_.block.packs_projections() ? 1 : 3;
  const double of_head = shape_.is_bert() ? shape_.part(shape_.products) : 1;  // a dense layer's, or a norm's
  if (shape_.normalises_last()) {
    norm_backward(name, follows_head_ ? of_head : projections * shape_.part(shape_.products) + 1, 0,
                  shape_.spec.dropout, gradients);
    follows_head_ = false;
  }
  linear_backward(rows, f, h, gradients);
  gelu_backward();
  linear_backward(rows, h, f, gradients);
  if (shape_.normalises_last()) {
    norm_backward(name, shape_.part(shape_.products) + 1, 0, shape_.spec.dropout, gradients);
  } else {
    norm_backward(name, shape_.part(shape_.products), 1, shape_.spec.dropout, gradients);
  }
  linear_backward(rows, h, h, gradients);
  attention_.backward();
  projections_backward(gradients);
  if (!shape_.normalises_last()) {
    norm_backward(name, shape_.part(shape_.products), 1, shape_.spec.dropout, gradients);
  }
}

/// Tables' gradients are not Triton's: zeros, sorted tokens, rows added up, as in eager mode.
void CompiledTransformer::embeddings_backward(GradientSink& gradients) {
  const std::int64_t h = shape_.spec.hidden, rows = shape_.block.rows();
  if (shape_.is_bert()) {
    norm_backward("native_dropout_backward_native_layer_norm_backward",
                  3 * shape_.part(shape_.products) + 1 + shape_.mask_part(shape_.model), 0, false, gradients);
  } else if (shape_.normalises_last() &&
             shape_.spec.dropout) {  // no norm's kernel joins that of the embeddings' dropout
    shape_.step.launch(triton::pointwise(
        "add_native_dropout_backward", shape_.block.elements(), shape_.model,
        {.reads = shape_.part(shape_.products) + 1 + shape_.mask_part(shape_.model), .flops = 2}));
  }
  if (shape_.block.batch > 1) {  // all samples share the position embeddings
    shape_.step.launch({"triton_red_fused_sum", shape_.model,
                        Pointwise{.elements = shape_.block.elements(),
                                  .reads = 1,
                                  .writes = 1.0 / static_cast<double>(shape_.block.batch)}});
  }
  token_embedding_backward(shape_.step,
                           {.rows = shape_.spec.position_rows(), .columns = h, .picks = shape_.spec.sequence},
                           gradients, false);
  if (shape_.spec.token_types > 0) {
    token_embedding_backward(shape_.step, {.rows = shape_.spec.token_types, .columns = h, .picks = rows},
                             gradients, false);
  }
  token_embedding_backward(shape_.step, {.rows = shape_.spec.vocabulary, .columns = h, .picks = rows},
                           gradients, false);
  if (!shape_.spec.classes) {  // and the output's part of it
    shape_.step.launch(triton::pointwise("add", shape_.spec.vocabulary * h, shape_.model,
                                         {.reads = 1 + shape_.part(shape_.products)}));
  }
}

}  // namespace lockstep
