#include "ops/workload/compiled/triton_kernels.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/context_attention.hpp"

namespace lockstep {
namespace {

constexpr DataType kWide = DataType::FP32;

class TorchRing {
 public:
  TorchRing(const LayerScope& scope, const FlashAttention& work, const Attend& attend)
      : scope_{scope},
        work_{work},
        attend_{attend},
        ranks_{scope.plan.spec.context},
        elements_{scope.sizes.tokens * scope.sizes.query_width()},
        narrow_{size_of(scope.storage()) / size_of(kWide)} {}

  void forward() {
    for (int turn = 0; turn < ranks_; ++turn) {
      exchange_keys(turn);
      attend_(piece(turn));
      merge(turn);
    }
    finish(elements_);
  }

  void backward() {
    std::vector<EventId> gradients;
    if (!is_compiled(scope_)) {
      for (int tensor = 0; tensor < 3; ++tensor) {
        scope_.step.op("aten::zeros_like", {kernels::fill(elements_, kWide)});
      }
    }
    for (int turn = 0; turn < ranks_; ++turn) {
      exchange_keys(turn);
      attend_(piece(turn));
      await(gradients);
      add_key_gradients(turn);
      gradients = send(wide_keys());
      add_query_gradient(turn);
    }
    await(gradients);
    finish(elements_);
    finish(2 * elements_);
  }

 private:
  /// Whether only the second half of this rank's queries sees a turn's keys; else all see half of the keys.
  [[nodiscard]] bool is_partial(int turn) const { return turn > ranks_ / 2; }

  [[nodiscard]] FlashAttention piece(int turn) const {
    FlashAttention own = work_;
    own.keys /= ranks_;
    own.causal = turn == 0;
    if (turn > 0) {
      (is_partial(turn) ? own.queries : own.keys) /= 2;
    }
    return own;
  }

  [[nodiscard]] Bytes keys() const { return scope_.bytes(2 * elements_); }
  [[nodiscard]] Bytes wide_keys() const { return static_cast<double>(2 * elements_) * size_of(kWide); }

  /// Keys and values for a turn, put together and under way: all of them at once, or the next rank's.
  void exchange_keys(int turn) {
    await(arrivals_);
    arrivals_.clear();
    const bool is_ring = scope_.plan.spec.context_attention == ContextAttention::Ring;
    if (turn + 1 == ranks_) {
      return;
    }
    if (is_ring || turn == 0 || !is_compiled(scope_)) {
      launch("aten::cat", kernels::concat(2 * elements_, 2, scope_.storage()));
    }
    if (is_ring) {
      arrivals_ = send(keys());
    } else if (turn == 0) {
      arrivals_ = {scope_.start(CollectiveKind::AllGather, "cp", keys() * static_cast<double>(ranks_))};
    }
    await_if_compiled(arrivals_);
  }

  std::vector<EventId> send(Bytes size) {
    std::vector<EventId> ends = shift_round(scope_, size);
    await_if_compiled(ends);
    return ends;
  }

  void await(const std::vector<EventId>& ends) const {
    for (const EventId end : ends) {
      scope_.step.wait_for(end);
    }
  }
  void await_if_compiled(std::vector<EventId>& ends) const {
    if (is_compiled(scope_)) {
      await(ends);
      ends.clear();
    }
  }

  void launch(const char* name, const KernelCall& kernel) const {
    if (is_compiled(scope_)) {
      scope_.step.launch(kernel);
    } else {
      scope_.step.op(name, {kernel});
    }
  }
  void fused(const char* what, std::int64_t elements, kernels::Passes passes) const {
    scope_.step.launch(triton::pointwise(what, elements, kWide, passes));
  }

  /// out - sigmoid(block_lse - lse) * (out - block_out), and the sum of exponentials.
  void merge(int turn) const {
    const std::int64_t seen = is_partial(turn) ? elements_ / 2 : elements_;
    const double share = is_partial(turn) ? 0.5 : 1;
    if (is_compiled(scope_)) {
      if (turn > 0) {
        fused("cat_mul_sigmoid_sub", elements_, {.reads = 1 + share * narrow_, .flops = 6});
      }
      return;
    }
    scope_.step.op("aten::to", {kernels::cast(seen, scope_.storage(), kWide)});
    if (turn == 0) {
      return;
    }
    over_sums("aten::sub", "sub", seen);
    over_sums("aten::sigmoid", "sigmoid", seen);
    scope_.step.op("aten::sub", {kernels::elementwise("sub", seen, kWide, {.reads = 2})});
    scope_.step.op("aten::mul", {kernels::by_offsets("mul", seen, kWide, {})});
    scope_.step.op("aten::sub", {kernels::elementwise("sub", seen, kWide, {.reads = 2})});
    over_sums("aten::sub", "sub", seen);
    over_sums("aten::log_sigmoid", "log_sigmoid", seen);
    over_sums("aten::sub", "sub", seen);
    if (is_partial(turn)) {
      scope_.step.op("aten::cat", {kernels::concat(elements_, 2, kWide)});
    }
  }

  /// A kernel over the sums of exponentials, one for each query and head.
  void over_sums(const char* name, const char* kernel, std::int64_t elements) const {
    scope_.step.op(name, {kernels::elementwise(kernel, elements / scope_.sizes.head_size, kWide, {})});
  }

  /// Adds the gradients of keys and values that came and this rank's; side by side for the next rank.
  void add_key_gradients(int turn) const {
    const bool halves = turn > 0 && !is_partial(turn);
    const double share = halves ? 0.5 : 1;
    if (is_compiled(scope_)) {
      const double came = turn > 0 ? 1 : 0;
      fused("add_cat", 2 * elements_, {.reads = came + share * narrow_});
      return;
    }
    for (int tensor = 0; tensor < 2; ++tensor) {
      add_to_wide(halves ? elements_ / 2 : elements_);
      if (halves) {
        scope_.step.op("aten::cat", {kernels::concat(elements_, 2, kWide)});
      }
    }
    scope_.step.op("aten::cat", {kernels::concat(2 * elements_, 2, kWide)});
  }

  void add_query_gradient(int turn) const {
    const double share = is_partial(turn) ? 0.5 : 1;
    if (is_compiled(scope_)) {
      if (turn > 0) {
        fused("add_cat", elements_, {.reads = 1 + share * narrow_});
      }
      return;
    }
    add_to_wide(is_partial(turn) ? elements_ / 2 : elements_);
    if (is_partial(turn)) {
      scope_.step.op("aten::cat", {kernels::concat(elements_, 2, kWide)});
    }
  }

  void add_to_wide(std::int64_t elements) const {
    scope_.step.op("aten::add_", {kernels::by_offsets("add", elements, kWide, {.reads = 1 + narrow_})});
  }

  void finish(std::int64_t elements) const {
    launch("aten::to", is_compiled(scope_)
                           ? triton::pointwise("_to_copy", elements, kWide, {.writes = narrow_})
                           : kernels::cast(elements, kWide, scope_.storage()));
  }

  const LayerScope& scope_;
  FlashAttention work_;
  const Attend& attend_;
  int ranks_;
  std::int64_t elements_;  ///< of a rank's queries, and of its keys once for each head of queries
  double narrow_;          ///< bytes of an activation over those of FP32
  std::vector<EventId> arrivals_;
};

}  // namespace

void torch_context_attention(const LayerScope& scope, FlashAttention work, const Attend& attend) {
  TorchRing ring{scope, work, attend};
  if (work.direction == Direction::Forward) {
    ring.forward();
  } else {
    ring.backward();
  }
}

}  // namespace lockstep
