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
  if (step_.types().casts()) {
    step_.launch(triton::pointwise("_to_copy", elements, products_,
                                   {.writes = size_of(model_) / size_of(products_), .flops = 0}));
  }
}

void CompiledTransformer::linear_backward(std::int64_t rows, std::int64_t in, std::int64_t out,
                                          GradientSink& gradients) {
  const DataType type = product_type(step_.precision());
  step_.launch(kernels::product({.batch = 1, .m = rows, .n = in, .k = out}, type));
  step_.launch(kernels::product({.batch = 1, .m = out, .n = in, .k = rows, .transpose_a = true}, type));
  triton::sum_columns(step_, rows, out, products_);
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
  const std::int64_t rows = block_.rows(), columns = block_.hidden;
  const double both = gradients_read + 1;  // and the normalised input
  const bool passes_on = drops || step_.types().casts();
  const double mask = drops ? mask_part(model_) : 0;
  step_.launch(triton::over_rows(
      what,
      LayerNorm{.rows = rows,
                .columns = columns,
                .part = LayerNorm::Part::InputGradient,
                .fused = {both + other_reads + mask, 1 + (passes_on ? part(products_) : 0), both}},
      model_));
  step_.launch(triton::over_rows("native_layer_norm_backward",
                                 LayerNorm{.rows = rows,
                                           .columns = columns,
                                           .part = LayerNorm::Part::ParameterGradient,
                                           .fused = {both, 0, 0}},
                                 model_));
  for (int parameter = 0; rows > kRowsAtOnce && parameter < 2; ++parameter) {
    triton::sum_pieces(step_, rows, columns);
  }
  gradients.accumulate(columns);  // gain
  gradients.accumulate(columns);  // bias
}

void CompiledTransformer::gelu_backward() {
  const bool composed = block_.gelu == Gelu::Composed;
  const double tanh = composed ? size_of(model_) / size_of(products_) : 0;
  step_.launch(triton::pointwise(
      composed ? "add_mul_pow_tanh_backward" : "gelu_gelu_backward", block_.rows() * block_.feed_forward,
      products_,
      {.reads = 2 + tanh, .flops = composed ? kGeluNewBackward : backward_work(block_.gelu).flops}));
}

/// A stored log-softmax meets the loss's gradient spread out in FP32. One that is recomputed is a kernel
/// alone, whose sum of a row of that gradient reads nothing: softmax of the logits less one where the label
/// is.
void CompiledTransformer::loss_backward() {
  const std::int64_t all = block_.rows() * spec_.vocabulary, judged = loss_.rows() * loss_.classes;
  const std::int64_t returned = spec_.classes ? judged : all;
  const double narrow = size_of(products_) / size_of(DataType::FP32);
  const double share = static_cast<double>(judged) / static_cast<double>(returned);
  const bool stores = stores_log_softmax();
  const std::string name = stores ? "_log_softmax_backward_data_nll_loss_backward"
                                  : "_log_softmax__log_softmax_backward_data_nll_loss_backward";
  step_.launch(kernels::fill(returned, products_));  // autograd's, of the returned logits
  if (stores) {
    step_.launch(triton::pointwise("nll_loss_backward", judged, DataType::FP32, {.reads = 0, .flops = 0}));
    step_.launch(triton::pointwise("nll_loss_backward", loss_.rows(), DataType::INT64, {}));
    step_.launch(kernels::elementwise("scatter", loss_.rows(), DataType::INT64, {}));
  }
  if (!loss_.shifted) {
    step_.launch(stores ? triton::over_rows(name,
                                            Softmax{.rows = loss_.rows(),
                                                    .columns = loss_.classes,
                                                    .direction = Direction::Backward,
                                                    .logarithm = true,
                                                    .fused = {2 + narrow, narrow, 1}},
                                            DataType::FP32)
                        : triton::online_softmax_gradient(loss_.rows(), loss_.classes, products_, 1));
    return;
  }
  if (stores) {  // other rows than those of the logits: sums, then the result
    step_.launch({"triton_red_fused_" + name, DataType::FP32,
                  Pointwise{.elements = judged, .reads = 1, .writes = 0, .flops = 2}});
  }
  step_.launch(
      triton::pointwise(stores ? "add_slice_backward" : name + "_slice_backward", returned, DataType::FP32,
                        {.reads = narrow + share * (stores ? 2 : narrow), .writes = narrow, .flops = 4}));
}

void CompiledTransformer::head_backward(GradientSink& gradients) {
  follows_head_ = true;
  if (spec_.classes) {
    classifier_backward(step_, block_, spec_.classifier(), gradients);
    return;
  }
  const std::int64_t rows = block_.rows(), h = spec_.hidden;
  const DataType type = product_type(step_.precision());
  const std::int64_t v = triton::padded_for_tensor_cores(spec_.vocabulary, type);
  for (int product = 0; v > spec_.vocabulary && product < 2; ++product) {
    step_.launch(triton::pointwise("constant_pad_nd", rows * v, products_, {}));  // each its own copy
  }
  step_.launch(kernels::product({.batch = 1, .m = v, .n = h, .k = rows, .transpose_a = true}, type));
  step_.launch(kernels::product({.batch = 1, .m = rows, .n = h, .k = v}, type));
  if (!is_bert()) {  // the dropout behind a norm that comes last is beyond that norm
    norm_backward("native_dropout_backward_native_layer_norm_backward", part(products_), 0,
                  spec_.dropout && !normalises_last(), gradients);
    return;
  }
  triton::sum_columns(step_, rows, spec_.vocabulary, products_);
  gradients.accumulate(spec_.vocabulary);
  norm_backward("gelu_gelu_backward_native_layer_norm_backward", part(products_), part(products_), false,
                gradients);
  linear_backward(rows, h, h, gradients);
}

void CompiledTransformer::projections_backward(GradientSink& gradients) {
  const std::int64_t rows = block_.rows(), h = block_.hidden;
  if (block_.packs_projections()) {
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
  const std::int64_t rows = block_.rows(), h = block_.hidden, f = block_.feed_forward;
  const char* const name = "add_native_dropout_backward_native_layer_norm_backward";
  const double projections = block_.packs_projections() ? 1 : 3;
  const double of_head = is_bert() ? part(products_) : 1;  // a dense layer's, or a norm's
  if (normalises_last()) {
    norm_backward(name, follows_head_ ? of_head : projections * part(products_) + 1, 0, spec_.dropout,
                  gradients);
    follows_head_ = false;
  }
  linear_backward(rows, f, h, gradients);
  gelu_backward();
  linear_backward(rows, h, f, gradients);
  if (normalises_last()) {
    norm_backward(name, part(products_) + 1, 0, spec_.dropout, gradients);
  } else {
    norm_backward(name, part(products_), 1, spec_.dropout, gradients);
  }
  linear_backward(rows, h, h, gradients);
  attention_backward();
  projections_backward(gradients);
  if (!normalises_last()) {
    norm_backward(name, part(products_), 1, spec_.dropout, gradients);
  }
}

/// Tables' gradients are not Triton's: zeros, sorted tokens, rows added up, as in eager mode.
void CompiledTransformer::embeddings_backward(GradientSink& gradients) {
  const std::int64_t h = spec_.hidden, rows = block_.rows();
  if (is_bert()) {
    norm_backward("native_dropout_backward_native_layer_norm_backward",
                  3 * part(products_) + 1 + mask_part(model_), 0, false, gradients);
  } else if (normalises_last() && spec_.dropout) {  // no norm's kernel joins that of the embeddings' dropout
    step_.launch(triton::pointwise("add_native_dropout_backward", block_.elements(), model_,
                                   {.reads = part(products_) + 1 + mask_part(model_), .flops = 2}));
  }
  if (block_.batch > 1) {  // all samples share the position embeddings
    step_.launch(
        {"triton_red_fused_sum", model_,
         Pointwise{
             .elements = block_.elements(), .reads = 1, .writes = 1.0 / static_cast<double>(block_.batch)}});
  }
  token_embedding_backward(step_, {.rows = spec_.position_rows(), .columns = h, .picks = spec_.sequence},
                           gradients, false);
  if (spec_.token_types > 0) {
    token_embedding_backward(step_, {.rows = spec_.token_types, .columns = h, .picks = rows}, gradients,
                             false);
  }
  token_embedding_backward(step_, {.rows = spec_.vocabulary, .columns = h, .picks = rows}, gradients, false);
  if (!spec_.classes) {  // and the output's part of it
    step_.launch(triton::pointwise("add", spec_.vocabulary * h, model_, {.reads = 1 + part(products_)}));
  }
}

}  // namespace lockstep
