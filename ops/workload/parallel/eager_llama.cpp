#include "ops/workload/parallel/eager_llama.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/llama_attention.hpp"
#include "ops/workload/parallel/llama_tensor_parallel.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"
#include "ops/workload/parallel/rotary.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"

namespace lockstep {
namespace {

constexpr DataType kWide = DataType::FP32;

KernelCall row_sums(const char* name, std::int64_t rows, std::int64_t columns) {
  return kernels::reduce(name, {.rows = rows, .columns = columns}, kWide);
}

/// A product of the layer and whether recomputation by operator runs it again: it keeps the results of the
/// first, third, fifth and seventh.
struct Product {
  ShardedLinear shape;
  bool again = false;
};

struct Products {
  Product query, key, value, output, gate, up, down;
};

Products products_of(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const auto linear = [&](std::int64_t in, std::int64_t out, LoraModule module, bool again) {
    return Product{.shape = {.tokens = s.tokens, .in = in, .out = out, .rank = rank_of(scope.model, module)},
                   .again = again};
  };
  return {.query = linear(s.hidden, s.query_width(), LoraModule::QProj, false),
          .key = linear(s.hidden, s.kv_width(), LoraModule::KProj, true),
          .value = linear(s.hidden, s.kv_width(), LoraModule::VProj, false),
          .output = linear(s.query_width(), s.hidden, LoraModule::OProj, true),
          .gate = linear(s.hidden, s.feed_forward, LoraModule::GateProj, false),
          .up = linear(s.hidden, s.feed_forward, LoraModule::UpProj, true),
          .down = linear(s.feed_forward, s.hidden, LoraModule::DownProj, false)};
}

void forward(const LayerScope& scope, const Product& product, LayerPass pass) {
  if (pass != LayerPass::Operators || product.again) {
    product_forward(scope, product.shape);
    adapter_forward(scope, product.shape, SharedSide::Outputs);
  }
}

void backward(const LayerScope& scope, const Product& product, BackwardParts parts) {
  if (parts.inputs) {
    adapter_input_gradient(scope, product.shape, SharedSide::Outputs);
    input_gradient(scope, product.shape);
  }
  if (parts.weights) {
    adapter_weight_gradient(scope, product.shape, SharedSide::Outputs);
    weight_gradient(scope, product.shape);
  }
}

/// The sum of gradients that several products leave for one input.
void add_gradients(const LayerScope& scope) {
  scope.step.op("aten::add", {kernels::add(scope.sizes.tokens * scope.sizes.hidden, scope.storage())});
}

void gather(const LayerScope& scope) {
  gather_tokens(scope, scope.storage());
  reorder_tokens(scope, scope.sizes.tokens * scope.sizes.hidden);
}

void scatter(const LayerScope& scope) {
  reorder_tokens(scope, scope.sizes.tokens * scope.sizes.hidden);
  scatter_sums(scope);
}

/// Tensor.to(): nothing where it is of that type.
void to(const LayerScope& scope, const char* op, std::int64_t elements, DataType from, DataType type) {
  if (from != type) {
    scope.step.op(op, {kernels::cast(scope.step, elements, from, type)});
  }
}

/// apply_rotary_emb: cast to FP32, a complex product, cast back; backward with the conjugate.
void rotary(const LayerScope& scope, std::int64_t width, Direction direction) {
  if (is_hugging_face_llama(scope)) {
    hugging_face_rotary(scope, width, direction);
    return;
  }
  const std::int64_t elements = scope.sizes.tokens * width;
  to(scope, "aten::to", elements, scope.storage(), kWide);
  scope.step.op("aten::mul", {kernels::elementwise("complex_mul", elements, kWide, {.flops = 3})});
  to(scope, "aten::to", elements, kWide, scope.storage());
}

/// repeat_kv: keys and values once for each head of queries.
/// @param reads of the tensor of all heads, in backward, which sums over those that shared a head
void repeat_heads(const LayerScope& scope, Direction direction) {
  const LayerSizes& s = scope.sizes;
  if (s.kv_heads == s.heads || !scope.model.repeats_kv_heads) {
    return;
  }
  const double share = static_cast<double>(s.kv_heads) / static_cast<double>(s.heads);
  const bool is_forward = direction == Direction::Forward;
  const std::int64_t elements = s.tokens * s.query_width();
  for (int tensor = 0; tensor < 2; ++tensor) {
    if (is_forward) {
      scope.step.op("aten::reshape",
                    {kernels::by_offsets("copy", elements, scope.storage(), {.reads = share, .flops = 0})});
    } else {
      scope.step.op("ExpandBackward0",
                    {kernels::elementwise("sum", elements, scope.storage(), {.writes = share})});
    }
  }
}

void gated_backward(const LayerScope& scope) {
  const std::int64_t elements = scope.sizes.tokens * scope.sizes.feed_forward;
  const DataType type = scope.storage();
  scope.step.op("MulBackward0", {kernels::mul(elements, type), kernels::mul(elements, type)});
  scope.step.op("SiluBackward0", {kernels::silu_backward(elements, type)});
}

}  // namespace

void eager_norm_forward(const LayerScope& scope, std::int64_t rows, std::int64_t columns) {
  const std::int64_t elements = rows * columns;
  to(scope, "aten::to", elements, scope.storage(), kWide);
  scope.step.op("aten::pow", {kernels::elementwise("pow", elements, kWide, {})});
  scope.step.op("aten::mean", {row_sums("mean", rows, columns)});
  scope.step.op("aten::add", {kernels::scale(rows, kWide)});
  scope.step.op("aten::rsqrt", {kernels::elementwise("rsqrt", rows, kWide, {})});
  scope.step.op("aten::mul", {kernels::by_offsets("mul", elements, kWide, {})});  // by a number of each row
  to(scope, "aten::to", elements, kWide, scope.storage());
  scope.step.op("aten::mul", {kernels::by_offsets("mul", elements, scope.storage(), {})});  // by one row
}

void eager_norm_backward(const LayerScope& scope, std::int64_t rows, std::int64_t columns,
                         BackwardParts parts) {
  const std::int64_t elements = rows * columns;
  const DataType type = scope.storage();
  if (parts.weights && !is_frozen(scope)) {
    scope.step.op("MulBackward0",
                  {kernels::mul(elements, type),
                   kernels::reduce("sum", {.rows = rows, .columns = columns, .across_rows = true}, type)});
    if (is_llama(scope)) {  // Megatron-LM sums all at the end
      sum_gain_gradient(scope, columns);
    }
    scope.gradients.accumulate(columns, false);
  }
  if (!parts.inputs) {
    return;
  }
  scope.step.op("MulBackward0", {kernels::by_offsets("mul", elements, type, {})});
  to(scope, "ToCopyBackward0", elements, type, kWide);
  scope.step.op("MulBackward0", {kernels::by_offsets("mul", elements, kWide, {}),  // the input's, the root's
                                 kernels::mul(elements, kWide), row_sums("sum", rows, columns)});
  scope.step.op("RsqrtBackward0", {kernels::elementwise("pow", rows, kWide, {}), kernels::scale(rows, kWide),
                                   kernels::mul(rows, kWide)});
  scope.step.op("MeanBackward1",
                {kernels::by_offsets("div", elements, kWide, {.reads = 0})});  // of one number a row
  scope.step.op("PowBackward0", {kernels::elementwise("pow", elements, kWide, {}),
                                 kernels::scale(elements, kWide), kernels::mul(elements, kWide)});
  scope.step.op("aten::add", {kernels::add(elements, kWide)});
  to(scope, "ToCopyBackward0", elements, kWide, type);
  scope.step.op("aten::add", {kernels::add(elements, type)});  // to the residual stream's
}

void eager_llama_forward(const LayerScope& scope, LayerPass pass) {
  const LayerSizes& s = scope.sizes;
  const Products products = products_of(scope);
  const std::int64_t gated = s.tokens * s.feed_forward;
  const auto add_residual = [&] {
    scope.step.op("aten::add", {kernels::add(s.elements(), scope.storage())});
  };
  eager_norm_forward(scope, s.rows, s.hidden);
  gather(scope);
  forward(scope, products.query, pass);
  forward(scope, products.key, pass);
  forward(scope, products.value, pass);
  rotary(scope, s.query_width(), Direction::Forward);
  rotary(scope, s.kv_width(), Direction::Forward);
  repeat_heads(scope, Direction::Forward);
  if (pass != LayerPass::Operators) {
    llama_attention_core(scope, Direction::Forward);
  }
  forward(scope, products.output, pass);
  if (pass != LayerPass::Operators) {  // which keeps what was scattered
    scatter(scope);
  }
  add_residual();
  eager_norm_forward(scope, s.rows, s.hidden);
  gather(scope);
  forward(scope, products.gate, pass);
  scope.step.op("aten::silu", {kernels::silu(gated, scope.storage())});
  forward(scope, products.up, pass);
  scope.step.op("aten::mul", {kernels::mul(gated, scope.storage())});
  if (pass == LayerPass::Forward) {
    forward(scope, products.down, pass);
    scatter(scope);
    add_residual();
  }
}

void eager_llama_backward(const LayerScope& scope, BackwardParts parts) {
  const LayerSizes& s = scope.sizes;
  const Products products = products_of(scope);
  if (parts.inputs) {
    gather(scope);
  }
  backward(scope, products.down, parts);
  if (parts.inputs) {
    gated_backward(scope);
  }
  backward(scope, products.up, parts);
  backward(scope, products.gate, parts);
  if (parts.inputs) {
    add_gradients(scope);
    scatter(scope);
  }
  eager_norm_backward(scope, s.rows, s.hidden, parts);
  if (parts.inputs) {
    gather(scope);
  }
  backward(scope, products.output, parts);
  if (parts.inputs) {
    llama_attention_core(scope, Direction::Backward);
    repeat_heads(scope, Direction::Backward);
    rotary(scope, s.kv_width(), Direction::Backward);
    rotary(scope, s.query_width(), Direction::Backward);
  }
  backward(scope, products.value, parts);
  backward(scope, products.key, parts);
  backward(scope, products.query, parts);
  if (parts.inputs) {
    add_gradients(scope);
    add_gradients(scope);
    scatter(scope);
  }
  eager_norm_backward(scope, s.rows, s.hidden, parts);
}

namespace {

/// Bytes that PEFT's adapters read, each a copy that autocast made.
Bytes kept_by_adapters(const LayerScope& scope) {
  const Products products = products_of(scope);
  std::int64_t elements = 0;
  for (const Product* product : {&products.query, &products.key, &products.value, &products.output,
                                 &products.gate, &products.up, &products.down}) {
    elements += product->shape.rank > 0 ? product->shape.tokens * product->shape.in : 0;
  }
  const Bytes mask = scope.model.lora->dropout ? size_of(DataType::BOOL) : Bytes{0};
  return scope.bytes(elements) + mask * static_cast<double>(elements);
}

}  // namespace

Bytes kept_by_eager_llama(const LayerScope& scope, Recompute recompute) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t whole = s.tokens * s.hidden;  // what products read and leave, of all tokens
  const Bytes scattered = scope.plan.spec.tensor > 1 ? scope.bytes(2 * s.elements()) : Bytes{0};
  if (recompute ==
      Recompute::Operators) {  // the input; query, value, context, gate and the layer's last product
    return scope.bytes(s.elements() + whole +
                       s.tokens * (2 * s.query_width() + s.kv_width() + s.feed_forward)) +
           scattered;
  }
  const std::int64_t keys = scope.model.repeats_kv_heads ? s.query_width() : s.kv_width();
  if (is_frozen(scope)) {  // neither gains nor weights keep what they multiply; an adapter keeps its input
    return Bytes{4} * (2.0 * static_cast<double>(s.elements())) + kept_by_llama_attention(scope) +
           scope.bytes(s.tokens * (2 * s.query_width() + 2 * keys + 3 * s.feed_forward)) +
           kept_by_adapters(scope);
  }
  const Bytes norms =
      (Bytes{4} * static_cast<double>(s.elements()) + scope.bytes(s.elements() + whole)) * 2.0;
  return norms + kept_by_llama_attention(scope) +
         scope.bytes(s.tokens * (2 * s.query_width() + 2 * keys + 4 * s.feed_forward));
}

}  // namespace lockstep
