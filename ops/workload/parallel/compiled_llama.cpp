#include "ops/workload/parallel/compiled_llama.hpp"

#include <vector>

#include "ops/model_flops.hpp"
#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/compiled/triton_kernels.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/eager_llama.hpp"
#include "ops/workload/parallel/llama_attention.hpp"
#include "ops/workload/parallel/llama_tensor_parallel.hpp"
#include "ops/workload/parallel/tensor_pieces.hpp"

namespace lockstep {
namespace {

constexpr DataType kWide = DataType::FP32;
constexpr std::int64_t kPieces = 1024;  // greatest magnitudes that the first of two kernels leaves

/// Orders in which products read an operand's FP8 copy.
enum class Orders : std::uint8_t { One = 1, Both = 2 };

/// Whether the greatest magnitude is known already.
enum class Scale : std::uint8_t { Known, Found };

class Block {
 public:
  explicit Block(const LayerScope& scope)
      : scope_{scope},
        type_{scope.storage()},
        fp8_{scope.step.precision() == Precision::FP8},
        sizes_{scope.sizes} {}

  void forward() {
    begin(kCompiledRegion);
    pass(LayerPass::Forward);
    end();
  }

  void backward(BackwardParts parts) {
    begin(kCompiledBackward);
    {
      const ModuleRange range{scope_.step, kRecomputeRange};
      again(parts.recompute);
    }
    feed_forward_backward();
    attention_backward();
    end();
    for (const std::int64_t elements : gradients_) {
      scope_.gradients.accumulate(elements, false);
    }
  }

 private:
  void begin(const char* graph) { scope_.step.program().begin(graph); }
  void end() { scope_.step.program().end(); }

  void pointwise(const char* what, std::int64_t elements, kernels::Passes passes) {
    scope_.step.launch(triton::pointwise(what, elements, type_, passes));
  }

  [[nodiscard]] bool is_shared() const { return scope_.plan.spec.tensor > 1; }
  [[nodiscard]] bool in_pieces() const { return scope_.plan.spec.tensor_overlap; }
  [[nodiscard]] DataType operand_type() const { return fp8_ ? DataType::FP8 : type_; }
  [[nodiscard]] std::int64_t whole() const { return sizes_.tokens * sizes_.hidden; }

  /// An operand of FP8 products that is computed from @p reads tensors of its size; tensor-parallel ranks
  /// share its greatest magnitude.
  void cast(std::int64_t elements, double reads, Orders orders, Scale scale, int tensors = 1) {
    if (scale == Scale::Found) {
      pointwise("abs_max", elements, {.reads = reads, .writes = 0, .flops = 2});
      pointwise("max", kPieces, {.writes = 0});
      for (int tensor = 0; tensor < tensors; ++tensor) {
        scope_.communicate(CollectiveKind::AllReduce, "tp", scope_.plan.spec.tensor, size_of(kWide));
      }
    }
    const double narrow = size_of(DataType::FP8) / size_of(type_), times = static_cast<double>(orders);
    pointwise("_to_copy_clamp_mul", elements,
              {.reads = reads * times, .writes = tensors * narrow * times, .flops = 3});
  }

  /// An operand as its products read it.
  void operand(const char* what, std::int64_t elements, double reads, Orders orders, Scale scale) {
    if (fp8_) {
      cast(elements, reads, orders, scale);
    } else {
      pointwise(what, elements, {.reads = reads, .flops = 10});
    }
  }

  /// RMS norm of the sum of @p reads tensors: behind FP8 products' casts only its roots are kept.
  void norm(double reads) {
    const FusedPasses passes = fp8_ ? FusedPasses{reads, 0, 0} : FusedPasses{reads, 1, reads};
    scope_.step.launch(
        triton::over_rows("_to_copy_add_mean_mul_pow_rsqrt",
                          LayerNorm{.rows = sizes_.rows, .columns = sizes_.hidden, .fused = passes}, type_));
  }

  void norm_for_product(double reads, Orders orders, Scale scale) {
    norm(reads);
    if (fp8_) {
      cast(sizes_.elements(), reads, is_shared() ? Orders::One : orders, scale);
    }
  }

  /// An operand that came in the order of ranks, as products read it. Products in pieces read it as it comes;
  /// that of a weight's gradient, which sums over tokens, has to have it in one.
  void arrange(Orders orders) {
    const bool is_mixed_up = sizes_.batch > 1, is_read_twice = orders == Orders::Both;
    if (is_mixed_up && (!in_pieces() || (is_read_twice && !fp8_))) {
      const double times = fp8_ ? static_cast<double>(orders) : 1;
      scope_.step.launch(triton::pointwise("cat_split", whole(), operand_type(),
                                           {.reads = times, .writes = times, .flops = 0}));
    } else if (is_read_twice && fp8_) {
      transpose();
    }
  }
  void transpose() { scope_.step.launch(triton::pointwise("t_clone", whole(), DataType::FP8, {.flops = 0})); }

  /// The products of a module's input, which is gathered for them.
  void module_products(const std::vector<std::int64_t>& widths, Orders orders) {
    const auto multiply_all = [&](std::int64_t tokens) {
      for (const std::int64_t width : widths) {
        multiply(tokens, width, sizes_.hidden, false, true);
      }
    };
    if (!in_pieces()) {
      if (is_shared()) {
        gather_tokens(scope_, operand_type());
        arrange(orders);
      }
      multiply_all(sizes_.tokens);
      return;
    }
    gather_by_two_streams(scope_, size_of(operand_type()) * static_cast<double>(whole()),
                          [&] { multiply_all(sizes_.rows); });
    arrange(orders);
  }

  /// The product of what a module leaves, summed over the ranks.
  void summed_product(std::int64_t in) {
    if (!in_pieces()) {
      linear(in, sizes_.hidden);
      scatter();
      return;
    }
    scatter_in_pieces(scope_, scope_.bytes(whole()), kSmsOfRingExchange,
                      [&] { multiply(sizes_.rows, sizes_.hidden, in, false, true); });
    pointwise("sum", sizes_.elements(), {.reads = static_cast<double>(scope_.plan.spec.tensor)});
  }

  void scatter() {
    if (!is_shared()) {
      return;
    }
    if (sizes_.batch > 1) {
      pointwise("cat_split", whole(), {.flops = 0});
    }
    scatter_sums(scope_);
  }

  /// Gradients of a module's @p products by its input: added up, and summed over the ranks.
  void module_norm_backward(double products, double inputs) {
    if (!is_shared()) {
      norm_backward(products, inputs);
      return;
    }
    pointwise("add_cat_split", whole(), {.reads = products});
    scatter_sums(scope_);
    norm_backward(1, inputs);
  }

  /// The gradient of a module's result by what its last product read.
  void module_gradient(std::int64_t in) {
    if (!is_shared()) {
      gradient_of_product(sizes_.elements());
      linear_backward(in, sizes_.hidden);
      return;
    }
    if (fp8_) {
      cast(sizes_.elements(), 1, Orders::One, Scale::Found);
      copy_weight(in, sizes_.hidden);
    }
    if (in_pieces()) {
      gather_by_two_streams(scope_, size_of(operand_type()) * static_cast<double>(whole()),
                            [&] { multiply(sizes_.rows, in, sizes_.hidden); });
      arrange(Orders::Both);
    } else {
      gather_tokens(scope_, operand_type());
      arrange(Orders::Both);
      multiply(sizes_.tokens, in, sizes_.hidden);
    }
    weight_gradient(in, sizes_.hidden);
  }

  /// @param products whose input's gradients are added up
  /// @param inputs tensors of which what was normalised is the sum
  void norm_backward(double products, double inputs) {
    const double stream = products + inputs, residual = 1;
    scope_.step.launch(triton::over_rows("add_mul_rms_norm_backward",
                                         LayerNorm{.rows = sizes_.rows,
                                                   .columns = sizes_.hidden,
                                                   .part = LayerNorm::Part::InputGradient,
                                                   .fused = {stream + residual, 1, stream}},
                                         type_));
    pointwise("sum", sizes_.elements(), {.reads = stream, .writes = 0, .flops = 4});
    triton::sum_pieces(scope_.step, sizes_.rows, sizes_.hidden);
    sum_gain_gradient(scope_, sizes_.hidden);
    gradients_.push_back(sizes_.hidden);
  }

  /// Backward's products, of an operand or none that is read by columns, have split accumulators.
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a = false,
                bool transpose_b = false) {
    scope_.step.launch(kernels::product({.batch = 1,
                                         .m = m,
                                         .n = n,
                                         .k = k,
                                         .transpose_a = transpose_a,
                                         .transpose_b = transpose_b,
                                         .split_accumulator = !transpose_b},
                                        fp8_ ? DataType::FP8 : scope_.type()));
  }
  void linear(std::int64_t in, std::int64_t out) { multiply(sizes_.tokens, out, in, false, true); }

  void copy_weight(std::int64_t in, std::int64_t out) {
    scope_.step.launch(triton::pointwise("t_clone", in * out, DataType::FP8, {.flops = 0}));
  }
  void weight_gradient(std::int64_t in, std::int64_t out) {
    multiply(out, in, sizes_.tokens, true);
    gradients_.push_back(in * out);
  }
  void linear_backward(std::int64_t in, std::int64_t out) {
    if (fp8_) {
      copy_weight(in, out);
    }
    multiply(sizes_.tokens, in, out);
    weight_gradient(in, out);
  }

  /// Cast to FP32 and multiplied by complex numbers; cast back by the kernel that reads it next.
  void rotate(std::int64_t width) {
    const std::int64_t elements = sizes_.tokens * width;
    pointwise("_to_copy", elements, {.writes = size_of(kWide) / size_of(type_)});
    scope_.step.launch(kernels::elementwise("complex_mul", elements, kWide, {.flops = 3}));
  }

  [[nodiscard]] double wide() const { return size_of(kWide) / size_of(type_); }
  [[nodiscard]] double share_of_heads() const {
    return static_cast<double>(sizes_.kv_heads) / static_cast<double>(sizes_.heads);
  }

  /// Queries, keys and values as attention reads them.
  void attention_inputs() {
    const std::int64_t queries = sizes_.tokens * sizes_.query_width();
    rotate(sizes_.query_width());
    pointwise("_to_copy", queries, {.reads = wide()});
    rotate(sizes_.kv_width());
    pointwise("_to_copy_expand", queries, {.reads = wide() * share_of_heads()});
    if (sizes_.kv_heads < sizes_.heads) {
      pointwise("expand", queries, {.reads = share_of_heads(), .flops = 0});
    }
  }

  void pass(LayerPass pass) {
    const bool is_forward = pass == LayerPass::Forward, all = pass != LayerPass::Operators;
    const Scale scale = all ? Scale::Found : Scale::Known;
    const Orders orders = is_forward ? Orders::One : Orders::Both;
    const std::int64_t query = sizes_.query_width(), key = sizes_.kv_width();
    norm_for_product(1, orders, scale);
    module_products(all ? std::vector{query, key, key} : std::vector{key}, orders);
    attention_inputs();
    if (all) {
      llama_attention_core(scope_, Direction::Forward);
    }
    if (fp8_) {
      cast(sizes_.tokens * query, 1, orders, scale);
    }
    if (all || !is_shared()) {  // by operator what was scattered is kept, and its product not asked for
      summed_product(query);
    }
    norm_for_product(2, orders, scale);
    const std::int64_t width = sizes_.feed_forward;
    module_products(all ? std::vector{width, width} : std::vector{width}, orders);
    operand("silu_mul", sizes_.tokens * width, 2, Orders::One, scale);
    if (is_forward) {
      summed_product(width);
      pointwise("add", sizes_.elements(), {.reads = 3, .flops = 2});
    }
  }

  void again(Recompute recompute) {
    switch (recompute) {
      case Recompute::Full:
        pass(LayerPass::UpToLastProduct);
        return;
      case Recompute::Operators:
        pass(LayerPass::Operators);
        return;
      case Recompute::Selective:
      case Recompute::None:
        break;
    }
    module_input_again("mul_rms_norm", 1);
    if (fp8_) {
      cast(sizes_.tokens * sizes_.query_width(), 1, Orders::One, Scale::Known);
    }
    module_input_again("add_mul_rms_norm", 2);
    operand("silu_mul", sizes_.tokens * sizes_.feed_forward, 2, Orders::One, Scale::Known);
  }

  /// Makes a module's input again. What was gathered is kept; FP8 products read it by columns for weights.
  void module_input_again(const char* what, double reads) {
    if (!is_shared()) {
      operand(what, sizes_.elements(), reads, Orders::One, Scale::Known);
    } else if (fp8_) {
      transpose();
    }
  }

  /// A gradient that lies in memory, as the products behind it read it.
  void gradient_of_product(std::int64_t elements) {
    if (fp8_) {
      cast(elements, 1, Orders::Both, Scale::Found);
    }
  }

  void feed_forward_backward() {
    const std::int64_t gated = sizes_.tokens * sizes_.feed_forward;
    module_gradient(sizes_.feed_forward);
    if (fp8_) {  // both gradients are computed from three tensors by each of the kernels
      cast(gated, 3, Orders::Both, Scale::Found, 2);
    } else {
      pointwise("silu_backward_mul", gated, {.reads = 3, .writes = 2, .flops = 20});
    }
    linear_backward(sizes_.hidden, sizes_.feed_forward);
    linear_backward(sizes_.hidden, sizes_.feed_forward);
    module_norm_backward(2, 2);
  }

  void attention_backward() {
    const std::int64_t queries = sizes_.tokens * sizes_.query_width(),
                       keys = sizes_.tokens * sizes_.kv_width();
    module_gradient(sizes_.query_width());
    llama_attention_core(scope_, Direction::Backward);
    if (sizes_.kv_heads < sizes_.heads) {
      pointwise("sum", queries, {.writes = share_of_heads()});                    // of values
      pointwise("sum__to_copy", queries, {.writes = wide() * share_of_heads()});  // of keys
    } else {
      pointwise("_to_copy", keys, {.writes = wide()});
    }
    scope_.step.launch(kernels::elementwise("complex_mul", keys, kWide, {.flops = 3}));
    rotate(sizes_.query_width());
    for (const std::int64_t elements : {queries, keys}) {
      operand("_to_copy", elements, wide(), Orders::Both, Scale::Found);
    }
    gradient_of_product(keys);
    linear_backward(sizes_.hidden, sizes_.query_width());
    linear_backward(sizes_.hidden, sizes_.kv_width());
    linear_backward(sizes_.hidden, sizes_.kv_width());
    module_norm_backward(3, 1);
  }

  const LayerScope& scope_;
  DataType type_;
  bool fp8_;
  const LayerSizes& sizes_;
  std::vector<std::int64_t> gradients_;
};

}  // namespace

void compiled_llama_forward(const LayerScope& scope) {
  Block{scope}.forward();
}

void compiled_llama_backward(const LayerScope& scope, BackwardParts parts) {
  Block{scope}.backward(parts);
}

/// Bytes that products and attention leave and backward reads. By operator the second, fourth and sixth
/// product are made again, so query, value, context and gate are kept. Else rotated queries and keys, values,
/// context, attention's result behind its product, gate and up. The last product's result is not read. Of
/// tensor-parallel ranks what was scattered is kept, or else what was gathered, as products read it.
Bytes kept_by_compiled_llama(const LayerScope& scope, Recompute recompute) {
  const LayerSizes& s = scope.sizes;
  const bool is_shared = scope.plan.spec.tensor > 1;
  if (recompute == Recompute::Operators) {
    return scope.bytes((is_shared ? 2 : 1) * s.elements() +
                       s.tokens * (2 * s.query_width() + s.kv_width() + s.feed_forward));
  }
  const DataType operand = scope.step.precision() == Precision::FP8 ? DataType::FP8 : scope.storage();
  const double gathered = is_shared ? 2 * static_cast<double>(s.tokens * s.hidden) : 0;
  return scope.bytes(2 * s.elements() +
                     s.tokens * (2 * s.query_width() + 2 * s.kv_width() + 2 * s.feed_forward)) +
         size_of(operand) * gathered;
}

}  // namespace lockstep
