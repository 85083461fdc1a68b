#include "ops/workload/dlrm_memory.hpp"

#include <numeric>
#include <vector>

namespace lockstep {
namespace {

Bytes floats(std::int64_t elements) {
  return static_cast<double>(elements) * size_of(DataType::FP32);
}

/// Bytes of one look-up while a table's backward sorts and groups them (the kernels of embedding_bag.cpp):
/// linear index 8 and its position 4, both sorted 12, runs: index 8, length 4, start 4.
constexpr double kSortedLookup = 40;

/// Of a table in host memory: each row's table (FBGEMM's cache_index_table_map), and each place's row and age
/// (lxu_cache_state, lxu_state).
constexpr Bytes kCachedRow{4};
constexpr Bytes kCachePlace{16};

class Counting {
 public:
  Counting(const DlrmMemoryShape& shape, std::size_t rank) : shape_{shape}, rank_{rank} {
    for (const MlpShape* mlp : {&shape.bottom, &shape.top}) {
      const std::vector<std::int64_t> parameters = parameters_of(*mlp);
      mlp_elements_ += std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
    }
    for (const EmbeddingBagShape& bags : shape.bags) {
      replicated_elements_ += bags.dense ? bags.weights(rank) : 0;
      table_elements_ += bags.weights_on_gpu(rank);
      host_rows_ += bags.rows_on_host(rank);
      const EmbeddingBagShape::Cache cache = bags.cache(rank);
      caches_ += floats(cache.places * cache.width) + kCachedRow * static_cast<double>(cache.rows) +
                 kCachePlace * static_cast<double>(cache.places);
    }
  }

  MemoryBreakdown peak() {
    permanent();
    inputs();
    forward();
    backward();
    update();
    return memory_.peak();
  }

 private:
  using Use = MemoryUse;

  void permanent() {
    const std::int64_t elements = mlp_elements_ + table_elements_;
    memory_.allocate(Use::Parameters, floats(elements) + caches_);
    if (shape_.optimizer == DlrmOptimizer::Adagrad) {
      memory_.allocate(Use::Optimizer, floats(elements + host_rows_));
    }
    if (shape_.ranks > 1) {
      memory_.allocate(Use::Communication, floats(mlp_elements_ + replicated_elements_));  // buckets
    }
    if (keeps_gradients()) {
      memory_.allocate(Use::Gradients, floats(mlp_elements_ + replicated_elements_));
    }
  }

  /// Gradients outlive the step in buckets, which are counted, or because they are zeroed, not dropped.
  [[nodiscard]] bool has_own_gradients() const {
    return shape_.ranks == 1 || !shape_.framework.gradient_as_bucket_view;
  }
  [[nodiscard]] bool keeps_gradients() const {
    return has_own_gradients() && shape_.framework.zero_gradients;
  }

  void inputs() {
    std::int64_t indices = 0;
    for (const EmbeddingBagShape& bags : shape_.bags) {
      indices += bags.lookups(rank_) + bags.offsets(rank_);
    }
    const Bytes batch = static_cast<double>(indices) * shape_.index +
                        floats(rows() * (shape_.bottom.widths.front() + 1));  // and labels
    memory_.allocate(Use::Activations, shape_.batches * batch);
  }

  void forward() {
    for (const EmbeddingBagShape& bags : shape_.bags) {
      memory_.allocate(pooled_use(bags), pooled(bags));
    }
    if (shape_.ranks > 1) {
      memory_.allocate(Use::Communication, received());
    }
    mlp_forward(shape_.bottom);
    for (const EmbeddingBagShape& bags : shape_.bags) {  // sent: what was received is in its place
      if (shape_.ranks > 1 && !bags.dense) {
        memory_.release(pooled_use(bags), pooled(bags));
      }
    }
    interaction_forward();
    mlp_forward(shape_.top);
  }

  /// Pooled rows of a sharded table are a send buffer; what stays on the rank is an input of the interaction.
  [[nodiscard]] Use pooled_use(const EmbeddingBagShape& bags) const {
    return shape_.ranks > 1 && !bags.dense ? Use::Communication : Use::Activations;
  }
  [[nodiscard]] Bytes pooled(const EmbeddingBagShape& bags) const {
    return floats(bags.batch * bags.width(rank_));
  }
  /// Rows of sharded tables for the rank's samples.
  [[nodiscard]] Bytes received() const {
    std::int64_t width = shape_.interaction.input_width - shape_.interaction.dense_width;
    for (const EmbeddingBagShape& bags : shape_.bags) {
      width -= bags.dense ? bags.width(rank_) : 0;
    }
    return floats(rows() * width);
  }

  void mlp_forward(const MlpShape& mlp) {
    for (std::size_t layer = 1; layer < mlp.widths.size(); ++layer) {
      const Bytes output = floats(mlp.rows * mlp.widths[layer]);
      memory_.allocate(Use::Workspace, output);  // of the product
      memory_.allocate(Use::Activations, output);
      memory_.release(Use::Workspace, output);
    }
  }

  void interaction_forward() {
    const InteractionShape& shape = shape_.interaction;
    memory_.allocate(Use::Activations, floats(rows() * shape.input_width));  // concatenated
    release_features();
    if (shape.kind == Interaction::Concatenate) {
      return;
    }
    memory_.allocate(Use::Workspace, squares(1));
    memory_.allocate(Use::Workspace, floats(rows() * shape.pairs()));
    memory_.allocate(Use::Activations, interacted());
    memory_.release(Use::Workspace, floats(rows() * shape.pairs()));
    memory_.release(Use::Workspace, squares(1));
  }

  /// The pooled rows, which nobody needs once they are concatenated.
  void release_features() {
    if (shape_.ranks > 1) {
      memory_.release(Use::Communication, received());
    }
    for (const EmbeddingBagShape& bags : shape_.bags) {
      if (pooled_use(bags) == Use::Activations) {
        memory_.release(Use::Activations, pooled(bags));
      }
    }
  }

  void backward() {
    gradient_ = floats(rows() * shape_.top.widths.back());
    memory_.allocate(Use::Workspace, gradient_);
    mlp_backward(shape_.top, true);
    interaction_backward();
    const Bytes dense = floats(rows() * shape_.interaction.dense_width);
    const Bytes sparse = gradient_ - dense;  // of the pooled rows
    if (shape_.ranks > 1) {
      send_gradients();
    }
    gradient_ = dense;
    const auto bottom = [&] {
      mlp_backward(shape_.bottom, false);
      memory_.release(Use::Workspace, gradient_);
    };
    if (shape_.ranks > 1) {
      memory_.release(Use::Workspace, sparse);
      bottom();
      tables_backward();
    } else {
      tables_backward();
      memory_.release(Use::Workspace, sparse);
      bottom();
    }
  }

  void accumulate(std::int64_t elements) {
    if (keeps_gradients()) {  // added to what is there
      memory_.allocate(Use::Workspace, floats(elements));
      memory_.release(Use::Workspace, floats(elements));
    } else if (has_own_gradients()) {
      memory_.allocate(Use::Gradients, floats(elements));
    }
  }

  /// From the gradient of the last output to that of the input, which replaces it in gradient_.
  void mlp_backward(const MlpShape& mlp, bool input_gradient) {
    for (std::size_t layer = mlp.widths.size() - 1; layer > 0; --layer) {
      const Bytes output = floats(mlp.rows * mlp.widths[layer]);
      memory_.allocate(Use::Workspace, output);  // before the activation function
      memory_.release(Use::Workspace, gradient_);
      memory_.release(Use::Activations, output);
      gradient_ = output;
      const bool onward = layer > 1 || input_gradient;
      const Bytes input = floats(onward ? mlp.rows * mlp.widths[layer - 1] : 0);
      memory_.allocate(Use::Workspace, input);
      accumulate(mlp.widths[layer]);
      accumulate(mlp.widths[layer] * mlp.widths[layer - 1]);
      memory_.release(Use::Workspace, gradient_);
      gradient_ = input;
    }
  }

  void interaction_backward() {
    const InteractionShape& shape = shape_.interaction;
    const Bytes features = floats(rows() * shape.input_width);
    if (shape.kind == Interaction::Dot) {
      memory_.release(Use::Activations, interacted());
      memory_.allocate(Use::Workspace, squares(2));  // of the chosen products and of all
      memory_.release(Use::Workspace, squares(1));
      memory_.allocate(Use::Workspace, 3 * features);  // of both factors, and their sum
      memory_.release(Use::Workspace, squares(1) + 2 * features + gradient_);
      gradient_ = features;
    }
    memory_.release(Use::Activations, features);
  }

  /// What leaves, and what comes for the rank's tables.
  void send_gradients() {
    memory_.allocate(Use::Communication, received());
    for (const EmbeddingBagShape& bags : shape_.bags) {
      memory_.allocate(Use::Communication, bags.dense ? Bytes{0} : pooled(bags));
    }
    memory_.release(Use::Communication, received());
  }

  void tables_backward() {
    for (std::size_t group = shape_.bags.size(); group-- > 0;) {
      const EmbeddingBagShape& bags = shape_.bags[group];
      const Bytes sorted{bags.kernels == EmbeddingKernels::Fbgemm
                             ? kSortedLookup * static_cast<double>(bags.lookups(rank_))
                             : 0};
      memory_.allocate(Use::Workspace, sorted);
      if (bags.dense) {
        accumulate(bags.weights(rank_));
      } else if (shape_.ranks > 1) {
        memory_.release(Use::Communication, pooled(bags));
      }
      memory_.release(Use::Workspace, sorted);
    }
  }

  /// Adagrad in lists of tensors: the roots of all sums at once (torch/optim/adagrad.py, foreach).
  void update() {
    if (shape_.optimizer == DlrmOptimizer::Adagrad) {
      memory_.allocate(Use::Workspace, floats(mlp_elements_ + replicated_elements_));
    }
  }

  [[nodiscard]] std::int64_t rows() const { return shape_.interaction.rows; }
  [[nodiscard]] Bytes squares(int count) const {
    return count * floats(rows() * shape_.interaction.features * shape_.interaction.features);
  }
  [[nodiscard]] Bytes interacted() const {
    return floats(rows() * (shape_.interaction.dense_width + shape_.interaction.pairs()));
  }

  const DlrmMemoryShape& shape_;
  std::size_t rank_;
  std::int64_t mlp_elements_ = 0;
  std::int64_t replicated_elements_ = 0;
  std::int64_t table_elements_ = 0;
  std::int64_t host_rows_ = 0;
  Bytes caches_{0};  // of tables in host memory, with what finds their rows
  Bytes gradient_;   // of what was last gone back through
  MemoryLedger memory_;
};

}  // namespace

MemoryBreakdown dlrm_memory(const DlrmMemoryShape& shape, std::size_t rank) {
  return Counting{shape, rank}.peak();
}

MemoryBreakdown dlrm_host_memory(const DlrmMemoryShape& shape, std::size_t rank) {
  MemoryBreakdown memory;
  for (const EmbeddingBagShape& bags : shape.bags) {
    memory[MemoryUse::Parameters] += floats(bags.weights(rank) - bags.weights_on_gpu(rank)).in_base_units();
  }
  return memory;
}

}  // namespace lockstep
