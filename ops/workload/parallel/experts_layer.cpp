/// @file
/// Mixtures of experts as Megatron-LM writes them (core/transformer/moe/): every rank sends each token to the
/// ranks of its experts, whose products Transformer Engine's GroupedLinear launches one by one, on four
/// streams in turn, or SequentialMLP expert after expert (experts.py).

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/expert_loads.hpp"
#include "ops/workload/parallel/fp8.hpp"
#include "ops/workload/parallel/router.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"
#include "ops/workload/parallel/token_counts.hpp"
#include "ops/workload/parallel/token_permutation.hpp"

namespace lockstep {
namespace {

/// Work of the ranks of an expert-parallel group in one layer. Ranks that share a program differ by
/// variant: the context place and then the place in the expert group (ParallelPlan::variant).
struct ExpertLoad {
  bool is_even = true;
  std::int64_t experts = 0, width = 0;  ///< of a rank; of an expert here
  std::vector<double> sent;             ///< elements of one rank's tokens, by place in the expert group
  std::vector<std::vector<std::int64_t>> tokens;  ///< by place and expert there

  [[nodiscard]] double all_sent() const { return std::accumulate(sent.begin(), sent.end(), 0.0); }
  [[nodiscard]] std::int64_t tokens_at(std::size_t place) const {
    return std::accumulate(tokens[place].begin(), tokens[place].end(), std::int64_t{0});
  }
};

constexpr double kRoundingError = 1 - 1e-12;  // a whole number of tokens stays one

ExpertLoad load_of(const LayerScope& scope, std::int64_t layer) {
  const ExpertsSpec& spec = *scope.model.experts;
  const auto& plan = scope.plan.spec;
  const ExpertLoads loads{spec};
  const std::vector<double> of_expert = loads.of(layer);
  // Tokens of one rank to an expert that has the mean.
  const double mean =
      static_cast<double>(scope.sizes.rows * spec.per_token) / static_cast<double>(spec.count);
  ExpertLoad load;
  load.is_even = loads.are_even();
  load.experts = spec.count / plan.expert;
  load.width = spec.feed_forward / plan.expert_tensor;
  for (std::size_t expert = 0; expert < of_expert.size(); ++expert) {
    if (expert % static_cast<std::size_t>(load.experts) == 0) {
      load.sent.push_back(0);
      load.tokens.emplace_back();
    }
    load.sent.back() += mean * of_expert[expert] * static_cast<double>(scope.sizes.hidden);
    // All ranks of the expert group send; with expert tensor parallelism the tokens of its ranks come
    // together.
    const double here =
        std::ceil(mean * of_expert[expert] * plan.expert * plan.expert_tensor * kRoundingError);
    load.tokens.back().push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(here)));
  }
  return load;
}

std::size_t place_of(const LayerScope& scope, std::size_t variant) {
  return scope.plan.expert_place(variant);
}

/// x [tokens, in] W, its input's gradient, or its weight's.
struct ExpertLinear {
  std::int64_t in = 0, out = 0;
};

struct ExpertLinears {
  ExpertLinear in, out;
};

ExpertLinears linears_of(const LayerScope& scope, const ExpertLoad& load) {
  const std::int64_t gates = scope.model.activation == Activation::SwiGlu ? 2 : 1;
  return {.in = {scope.sizes.hidden, load.width * gates}, .out = {load.width, scope.sizes.hidden}};
}

/// An operator whose kernel follows from the tokens of a rank's experts.
void op_by_rank(const LayerScope& scope, const char* name,
                const std::function<KernelCall(std::size_t place)>& kernel) {
  scope.step.program().begin(name);
  scope.step.launch_by_rank([&](std::size_t variant) { return kernel(place_of(scope, variant)); });
  scope.step.program().end();
}

/// Experts of a rank whose products are launched together: all of them, or each by itself.
struct Together {
  std::size_t first = 0, count = 0;

  [[nodiscard]] std::int64_t tokens(const ExpertLoad& load, std::size_t place) const {
    const auto begin = load.tokens[place].begin() + static_cast<std::ptrdiff_t>(first);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), std::int64_t{0});
  }
};

std::vector<Together> launched(const LayerScope& scope, const ExpertLoad& load) {
  const auto experts = static_cast<std::size_t>(load.experts);
  if (scope.model.experts->grouped) {
    return {{0, experts}};
  }
  std::vector<Together> each;
  for (std::size_t expert = 0; expert < experts; ++expert) {
    each.push_back({expert, 1});
  }
  return each;
}

/// Products of some experts of a rank, as if on one stream: those that run at a time share their waves.
/// @param shape of one with that many tokens
void multiply(const LayerScope& scope, const ExpertLoad& load, const Together& some, const char* name,
              const std::function<Gemm(std::int64_t tokens)>& shape) {
  constexpr std::size_t kStreams = 4;  // Transformer Engine, common/util/multi_stream.cpp
  const DataType type = product_type(scope, {});
  scope.step.program().begin(name);
  for (std::size_t expert = some.first; expert < some.first + some.count; ++expert) {
    scope.step.launch_by_rank([&](std::size_t variant) {
      Gemm gemm = shape(load.tokens[place_of(scope, variant)][expert]);
      gemm.concurrent = static_cast<int>(std::min(kStreams, some.count));
      return kernels::product(gemm, type);
    });
  }
  scope.step.program().end();
}

/// Casts for each expert by itself where a cast needs the scale of what it casts (split_quantize).
void cast_tokens(const LayerScope& scope, const ExpertLoad& load, const Together& some,
                 std::int64_t columns) {
  if (!is_fp8(scope, {})) {
    return;
  }
  const std::size_t at_a_time = scales_by_itself(scope) ? 1 : some.count;
  scope.step.program().begin("split_quantize");
  for (std::size_t first = 0; first < some.count; first += at_a_time) {
    const Together cast{some.first + first, at_a_time};
    launch_cast(scope,
                [&](std::size_t variant) { return cast.tokens(load, place_of(scope, variant)) * columns; });
  }
  scope.step.program().end();
}

void product_of_experts(const LayerScope& scope, const ExpertLoad& load, const Together& some,
                        const ExpertLinear& linear) {
  cast_tokens(scope, load, some, linear.in);
  multiply(scope, load, some, "aten::linear", [&](std::int64_t tokens) {
    return Gemm{.m = tokens, .n = linear.out, .k = linear.in, .transpose_b = true};
  });
}

void product_backward(const LayerScope& scope, const ExpertLoad& load, const Together& some,
                      const ExpertLinear& linear, BackwardParts parts) {
  if (parts.inputs) {
    cast_tokens(scope, load, some, linear.out);
    multiply(scope, load, some, "aten::matmul", [&](std::int64_t tokens) {
      return Gemm{.m = tokens, .n = linear.in, .k = linear.out, .split_accumulator = true};
    });
  }
  if (parts.weights) {
    multiply(scope, load, some, "aten::matmul", [&](std::int64_t tokens) {
      return Gemm{.m = linear.out,
                  .n = linear.in,
                  .k = tokens,
                  .transpose_a = true,
                  .added_to = products_add_to(scope),
                  .split_accumulator = true};
    });
    add_weight_gradient(scope, static_cast<std::int64_t>(some.count) * linear.in * linear.out, true);
  }
}

bool is_weighted(const LayerScope& scope) {
  return scope.model.experts->weighted_activation;
}

/// Writes the activation, with its results' probabilities. Backward sums their gradients of each token, and
/// reads once more what it has read (fused_bias_swiglu.py, weighted_swiglu_back, as torch.compile writes it).
void expert_activation(const LayerScope& scope, const ExpertLoad& load, const Together& some,
                       Direction direction) {
  op_by_rank(scope, activation_operator(scope, direction), [&](std::size_t place) {
    return activation_kernel(scope, some.tokens(load, place) * load.width, direction);
  });
  if (is_weighted(scope) && direction == Direction::Backward) {
    const std::int64_t read = linears_of(scope, load).in.out + load.width;
    op_by_rank(scope, "aten::sum", [&](std::size_t place) {
      return kernels::reduce("sum", {.rows = some.tokens(load, place), .columns = read}, scope.storage());
    });
  }
}

/// Puts together what experts one after the other made: outputs, or gradients of their inputs.
void join_experts(const LayerScope& scope, const ExpertLoad& load, const char* name) {
  if (!scope.model.experts->grouped && load.experts > 1) {
    op_by_rank(scope, name, [&](std::size_t place) {
      return kernels::concat(load.tokens_at(place) * scope.sizes.hidden, load.experts, scope.storage());
    });
  }
}

void multiply_forward(const LayerScope& scope, const ExpertLoad& load) {
  const ExpertLinears linear = linears_of(scope, load);
  for (const Together& some : launched(scope, load)) {
    product_of_experts(scope, load, some, linear.in);
    expert_activation(scope, load, some, Direction::Forward);
    product_of_experts(scope, load, some, linear.out);
  }
  join_experts(scope, load, "aten::cat");
}

void multiply_backward(const LayerScope& scope, const ExpertLoad& load, BackwardParts parts) {
  const ExpertLinears linear = linears_of(scope, load);
  const std::vector<Together> forward = launched(scope, load);
  for (auto some = forward.rbegin(); some != forward.rend(); ++some) {
    product_backward(scope, load, *some, linear.out, parts);
    if (parts.inputs) {
      expert_activation(scope, load, *some, Direction::Backward);
    }
    product_backward(scope, load, *some, linear.in, parts);
  }
  if (parts.inputs) {
    join_experts(scope, load, "SplitWithSizesBackward0");
  }
}

/// Puts what came from all ranks, one after the other, in the order of this rank's experts, or back. For one
/// expert it is in order as it comes. With 'fused_permutation' a copy transposes padded ones; Transformer
/// Engine's kernel sorts others and takes their probabilities along (token_dispatcher.py; moe_utils.py,
/// sort_chunks_by_idxs); else torch.cat puts the pieces together.
/// @param width elements of a token
void sort_by_expert(const LayerScope& scope, const ExpertLoad& load, const char* name, std::int64_t width) {
  const ExpertsSpec& spec = *scope.model.experts;
  const bool taken_along = width == 1 && spec.fused_permutation && !spec.are_padded();
  if (load.experts > 1 && !taken_along) {
    op_by_rank(scope, name, [&](std::size_t place) {
      const std::int64_t elements = load.tokens_at(place) * width;
      if (!spec.fused_permutation) {
        const auto& plan = scope.plan.spec;
        return kernels::concat(elements, load.experts * plan.expert * plan.expert_tensor, scope.storage());
      }
      return spec.are_padded() ? kernels::strided_copy(elements, scope.storage())
                               : kernels::elementwise("sort_chunks", elements, scope.storage(), {.flops = 0});
    });
  }
}

/// A collective whose size follows from the place in the expert group.
void communicate_by_place(const LayerScope& scope, const char* group,
                          const std::function<CollectiveCall(std::size_t place)>& call) {
  scope.step.program().begin(to_string(call(0).kind));
  const EventId end =
      scope.step.communicate_by_rank(group, "nccl " + std::string{group},
                                     [&](std::size_t variant) { return call(place_of(scope, variant)); });
  scope.step.program().end();
  scope.step.wait_for(end);
}

enum class Toward : std::uint8_t { Experts, Tokens };

/// Bytes in which an element of a token's copy is sent, when @p width elements are.
double bytes_sent(const LayerScope& scope, std::int64_t width) {
  return size_of(scope.storage()).in_base_units() * static_cast<double>(width) /
         static_cast<double>(scope.sizes.hidden);
}

/// The all-to-all of the expert group. Back each rank sends to every other what it got from it.
/// @param width elements of a token
void exchange(const LayerScope& scope, const ExpertLoad& load, Toward toward, std::int64_t width) {
  const int ranks = scope.plan.spec.expert;
  const double one = bytes_sent(scope, width);
  if (load.is_even || ranks == 1) {
    scope.communicate(CollectiveKind::AllToAll, "ep", ranks, Bytes{load.all_sent() * one});
    return;
  }
  communicate_by_place(scope, "ep", [&](std::size_t place) {
    std::vector<double> bytes = load.sent;
    if (toward == Toward::Tokens) {
      std::fill(bytes.begin(), bytes.end(), load.sent[place]);
    }
    std::transform(bytes.begin(), bytes.end(), bytes.begin(), [&](double sent) { return sent * one; });
    const double sum = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    return CollectiveCall{.kind = CollectiveKind::AllToAll,
                          .type = scope.storage(),
                          .size = Bytes{sum},
                          .send_bytes = std::move(bytes)};
  });
}

/// Tokens that came to the ranks of one expert place come together on those that share its experts' products.
/// @param width elements of a token
void gather_experts(const LayerScope& scope, const ExpertLoad& load, CollectiveKind kind,
                    std::int64_t width) {
  const int ranks = scope.plan.spec.expert_tensor;
  if (ranks == 1) {
    return;
  }
  communicate_by_place(scope, "etp", [&](std::size_t place) {
    const double came = load.sent[place] * scope.plan.spec.expert * ranks;
    return CollectiveCall{.kind = kind,
                          .type = scope.storage(),
                          .size = Bytes{bytes_sent(scope, width) * came},
                          .send_bytes = {}};
  });
}

/// Elements of a token in each tensor that goes with it: what it is itself, and where the activation weighs
/// what came its probability, which has exchanges of its own (token_dispatcher.py).
std::vector<std::int64_t> widths_of(const LayerScope& scope, bool weighed) {
  return weighed && is_weighted(scope) ? std::vector<std::int64_t>{scope.sizes.hidden, 1}
                                       : std::vector<std::int64_t>{scope.sizes.hidden};
}

/// To the ranks of their experts, and there in the order of these.
void dispatch(const LayerScope& scope, const ExpertLoad& load, const char* sort, bool weighed) {
  const std::vector<std::int64_t> widths = widths_of(scope, weighed);
  for (const std::int64_t width : widths) exchange(scope, load, Toward::Experts, width);
  for (const std::int64_t width : widths) gather_experts(scope, load, CollectiveKind::AllGather, width);
  for (const std::int64_t width : widths) sort_by_expert(scope, load, sort, width);
}

/// The way back of dispatch().
void combine(const LayerScope& scope, const ExpertLoad& load, const char* sort, bool weighed) {
  const std::vector<std::int64_t> widths = widths_of(scope, weighed);
  for (const std::int64_t width : widths) sort_by_expert(scope, load, sort, width);
  for (const std::int64_t width : widths) gather_experts(scope, load, CollectiveKind::ReduceScatter, width);
  for (const std::int64_t width : widths) exchange(scope, load, Toward::Tokens, width);
}

}  // namespace

std::int64_t tokens_of_fullest_rank(const LayerScope& scope, std::int64_t layer) {
  const ExpertLoad load = load_of(scope, layer);
  std::int64_t most = 0;
  for (std::size_t place = 0; place < load.tokens.size(); ++place) {
    most = std::max(most, load.tokens_at(place));
  }
  return most;
}

double elements_sent(const LayerScope& scope, std::int64_t layer) {
  return load_of(scope, layer).all_sent();
}

void experts_forward(const LayerScope& scope, std::int64_t layer, bool differentiated) {
  const ExpertLoad load = load_of(scope, layer);
  router_forward(scope, differentiated);
  count_tokens(scope);
  if (scope.model.experts->drops()) {  // the host asks how many copies there are
    wait_for_counts(scope);
  }
  permute_forward(scope, load.all_sent());
  if (!scope.model.experts->drops()) {
    wait_for_counts(scope);
  }
  dispatch(scope, load, "sort_chunks_by_idxs", true);
  multiply_forward(scope, load);
  combine(scope, load, "sort_chunks_by_idxs", false);
  unpermute_forward(scope, load.all_sent());
  if (const std::int64_t shared = scope.model.experts->shared; shared > 0) {
    feed_forward_forward(scope, shared * scope.model.experts->feed_forward / scope.plan.spec.tensor);
    scope.step.op("aten::add", {kernels::add(scope.sizes.elements(), scope.storage())});
  }
}

void experts_backward(const LayerScope& scope, std::int64_t layer, BackwardParts parts) {
  const ExpertLoad load = load_of(scope, layer);
  if (const std::int64_t shared = scope.model.experts->shared; shared > 0) {
    feed_forward_backward(scope, shared * scope.model.experts->feed_forward / scope.plan.spec.tensor, parts);
    if (parts.inputs) {
      scope.step.op("aten::add_", {kernels::add(scope.sizes.elements(), scope.storage())});
    }
  }
  if (parts.inputs) {
    unpermute_backward(scope, load.all_sent());
    dispatch(scope, load, "sort_chunks_by_idxs_backward", false);
  }
  multiply_backward(scope, load, parts);
  if (parts.inputs) {
    combine(scope, load, "sort_chunks_by_idxs_backward", true);
    permute_backward(scope, load.all_sent());
  }
  router_backward(scope, parts);
}

}  // namespace lockstep
