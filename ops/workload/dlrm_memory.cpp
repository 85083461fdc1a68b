#include "ops/workload/dlrm_memory.hpp"

#include "ops/memory_ledger.hpp"
#include "ops/workload/element_count.hpp"
#include "ops/workload/table_storage.hpp"

namespace lockstep {
namespace {

Bytes floats(std::int64_t elements) {
  return static_cast<double>(elements) * size_of(DataType::FP32);
}

/// Bytes of one lookup while a table's backward sorts and groups them (the kernels of embedding_bag.cpp):
/// linear index 8 and its position 4, both sorted 12, runs: index 8, length 4, start 4.
constexpr double kSortedLookup = 40;

template <class Shape>
std::int64_t elements_in(const Shape& shape) {
  return elements_of(parameters_of(shape));
}

class Counting {
 public:
  Counting(const DlrmMemoryShape& shape, std::size_t rank) : shape_{shape}, rank_{rank} {
    const std::int64_t top = elements_in(shape.top) + elements_in(shape.cross);
    const std::int64_t bottom = shape.has_dense ? elements_in(shape.bottom) : 0;
    const std::int64_t trained_top = shape.trains_top ? top : elements_in(shape.cross);
    mlp_elements_ = top + bottom;
    trained_elements_ = trained_top + (shape.trains_bottom ? bottom : 0);
    shared_elements_ = shape.hybrid ? trained_top : trained_elements_;
    for (const EmbeddingBagShape& bags : shape.bags) {
      replicated_elements_ += bags.dense && shape.trains_tables ? bags.weights(rank) : 0;
      table_elements_ += bags.weights_on_gpu(rank);
      sharded_rows_ += bags.dense || !shape.trains_tables ? 0 : bags.rows(rank);
      const EmbeddingBagShape::Cache cache = bags.cache(rank);
      caches_ += floats(cache.places * cache.width) + kCachedRow * static_cast<double>(cache.rows) +
                 kCachePlace * static_cast<double>(cache.places);
    }
  }

  const MemoryLedger& count() {
    permanent();
    inputs();
    forward();
    backward();
    update();
    return memory_;
  }

 private:
  using Use = MemoryUse;

  void move_to(DlrmMoment moment) { memory_.move_to(shape_.moments[static_cast<std::size_t>(moment)]); }

  void permanent() {
    move_to(DlrmMoment::Start);
    memory_.allocate(Use::Parameters, floats(mlp_elements_ + table_elements_) + caches_);
    if (shape_.optimizer == DlrmOptimizer::Adagrad) {
      memory_.allocate(Use::Optimizer,
                       floats(trained_elements_ + (shape_.trains_tables ? table_elements_ : 0)));
    } else if (shape_.optimizer == DlrmOptimizer::RowWiseAdagrad) {
      memory_.allocate(Use::Optimizer, floats(trained_elements_ + replicated_elements_ + sharded_rows_));
    }
    if (shape_.ranks > 1) {
      memory_.allocate(Use::Communication, floats(shared_elements_ + replicated_elements_));  // buckets
    }
    if (keeps_gradients()) {
      memory_.allocate(Use::Gradients, floats(trained_elements_ + replicated_elements_));
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
                        floats(shape_.bottom.rows * shape_.bottom.widths.front() + rows());  // and labels
    memory_.allocate(Use::Activations, shape_.batches * batch);
    if (size_of(shape_.activations) < size_of(DataType::FP32)) {
      memory_.allocate(Use::Workspace, values(mlp_elements_));  // weights in 16 bits
    }
  }

  void forward() {
    move_to(DlrmMoment::Lookups);
    for (const EmbeddingBagShape& bags : shape_.bags) {
      memory_.allocate(pooled_use(bags), pooled(bags));
    }
    if (shape_.ranks > 1) {
      memory_.allocate(Use::Communication, received());
    }
    move_to(DlrmMoment::BottomMlp);
    if (shape_.has_dense) {
      mlp_forward(shape_.bottom, shape_.trains_bottom ? Use::Activations : Use::Workspace);
    }
    for (const EmbeddingBagShape& bags : shape_.bags) {  // sent: what was received is in its place
      if (shape_.ranks > 1 && !bags.dense) {
        memory_.release(pooled_use(bags), pooled(bags));
      }
    }
    move_to(DlrmMoment::Interaction);
    interaction_forward();
    move_to(DlrmMoment::TopMlp);
    mlp_forward(shape_.top, Use::Activations);
  }

  /// Pooled rows of a sharded table are a send buffer; what stays on the rank is an input of the interaction.
  [[nodiscard]] Use pooled_use(const EmbeddingBagShape& bags) const {
    return shape_.ranks > 1 && !bags.dense ? Use::Communication : Use::Activations;
  }
  [[nodiscard]] Bytes pooled(const EmbeddingBagShape& bags) const {
    return features(bags.batch * bags.width(rank_));
  }
  /// Rows of sharded tables for the rank's samples.
  [[nodiscard]] Bytes received() const {
    std::int64_t width =
        shape_.interaction.input_width - (shape_.hybrid ? 0 : shape_.interaction.dense_width);
    for (const EmbeddingBagShape& bags : shape_.bags) {
      width -= bags.dense ? bags.width(rank_) : 0;
    }
    return features(rows() * width);
  }

  /// @param kept of outputs: activations, or the workspace of one that backward does not come to
  void mlp_forward(const MlpShape& mlp, Use kept) {
    for (std::size_t layer = 1; layer < mlp.widths.size(); ++layer) {
      const Bytes output = values(mlp.rows * mlp.widths[layer]);
      memory_.allocate(Use::Workspace, output);  // of the product
      memory_.allocate(kept, output);
      memory_.release(Use::Workspace, kept == Use::Workspace ? 2 * output : output);
    }
  }

  void interaction_forward() {
    const InteractionShape& shape = shape_.interaction;
    memory_.allocate(Use::Activations, features(rows() * shape.input_width));  // concatenated
    release_features();
    memory_.allocate(Use::Activations, crossed());
    if (shape.kind != Interaction::Dot) {
      return;
    }
    const Bytes products = is_fused() ? Bytes{0} : squares(1) + values(rows() * shape.pairs());
    memory_.allocate(Use::Workspace, products);
    memory_.allocate(Use::Activations, interacted());
    memory_.release(Use::Workspace, products);
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
    move_to(DlrmMoment::Backward);
    gradient_ = values(rows() * shape_.top.widths.back());
    memory_.allocate(Use::Workspace, gradient_);
    const bool goes_on = shape_.trains_bottom || shape_.trains_tables;
    mlp_backward(shape_.top, goes_on, shape_.trains_top);
    if (!goes_on) {
      return;
    }
    move_to(DlrmMoment::BelowTop);
    interaction_backward();
    const Bytes dense = shape_.hybrid ? Bytes{0} : features(rows() * shape_.interaction.dense_width);
    const Bytes sparse = gradient_ - dense;  // of the pooled rows
    if (shape_.ranks > 1 && shape_.trains_tables) {
      send_gradients();
    }
    gradient_ = dense;
    if (shape_.hybrid && shape_.has_dense) {  // all samples' came back
      gradient_ = features(shape_.bottom.rows * shape_.interaction.dense_width);
      memory_.allocate(Use::Workspace, gradient_);
    }
    const auto bottom = [&] {
      move_to(DlrmMoment::BottomBackward);
      if (shape_.has_dense && shape_.trains_bottom) {
        mlp_backward(shape_.bottom, false, true);
      }
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

  /// Goes from the gradient of the last output to that of the input, which replaces it in gradient_.
  void mlp_backward(const MlpShape& mlp, bool input_gradient, bool trains) {
    for (std::size_t layer = mlp.widths.size() - 1; layer > 0; --layer) {
      const Bytes output = values(mlp.rows * mlp.widths[layer]);
      memory_.allocate(Use::Workspace, output);  // before the activation function
      memory_.release(Use::Workspace, gradient_);
      memory_.release(Use::Activations, output);
      gradient_ = output;
      const bool onward = layer > 1 || input_gradient;
      const Bytes input = values(onward ? mlp.rows * mlp.widths[layer - 1] : 0);
      memory_.allocate(Use::Workspace, input);
      if (trains) {
        accumulate(mlp.widths[layer]);
        accumulate(mlp.widths[layer] * mlp.widths[layer - 1]);
      }
      memory_.release(Use::Workspace, gradient_);
      gradient_ = input;
    }
  }

  /// Gradients of x_0, of x_l and of what x_0 was multiplied by, beside that which came back.
  void cross_backward() {
    const Bytes gradients = 3 * features(rows() * shape_.cross.width);
    memory_.allocate(Use::Workspace, gradients);
    for (const std::int64_t elements : parameters_of(shape_.cross)) {
      accumulate(elements);
    }
    memory_.release(Use::Workspace, gradients);
    memory_.release(Use::Activations, crossed());
    const Bytes all = features(rows() * shape_.cross.width);
    memory_.allocate(Use::Workspace, all);
    memory_.release(Use::Workspace, gradient_);
    gradient_ = all;
  }

  void interaction_backward() {
    const InteractionShape& shape = shape_.interaction;
    if (shape_.cross.layers > 0) {
      cross_backward();
    }
    const Bytes all = features(rows() * shape.input_width);
    if (is_fused()) {
      memory_.release(Use::Activations, interacted());
      memory_.allocate(Use::Workspace, all);
      memory_.release(Use::Workspace, gradient_);
      gradient_ = all;
    } else if (shape.kind == Interaction::Dot) {
      memory_.release(Use::Activations, interacted());
      memory_.allocate(Use::Workspace, squares(2));  // of the chosen products and of all
      memory_.release(Use::Workspace, squares(1));
      memory_.allocate(Use::Workspace, 3 * all);  // of both factors, and their sum
      memory_.release(Use::Workspace, squares(1) + 2 * all + gradient_);
      gradient_ = all;
    }
    memory_.release(Use::Activations, all);
  }

  /// Gradients that leave, and those that come for the rank's tables.
  void send_gradients() {
    memory_.allocate(Use::Communication, received());
    for (const EmbeddingBagShape& bags : shape_.bags) {
      memory_.allocate(Use::Communication, bags.dense ? Bytes{0} : pooled(bags));
    }
    memory_.release(Use::Communication, received());
  }

  void tables_backward() {
    move_to(DlrmMoment::TablesBackward);
    if (!shape_.trains_tables) {
      return;
    }
    for (std::size_t group = shape_.bags.size(); group-- > 0;) {
      const EmbeddingBagShape& bags = shape_.bags[group];
      const Bytes sorted{bags.kernels == EmbeddingKernels::Fbgemm
                             ? kSortedLookup * static_cast<double>(bags.lookups(rank_))
                             : 0};
      const Bytes sparse = sparse_gradients(bags);
      memory_.allocate(Use::Gradients, sparse);
      sparse_gradients_ += sparse;
      memory_.allocate(Use::Workspace, sorted);
      if (bags.dense) {
        accumulate(bags.weights(rank_));
      } else if (shape_.ranks > 1) {
        memory_.release(Use::Communication, pooled(bags));
      }
      memory_.release(Use::Workspace, sorted);
    }
  }

  /// Joint: their values, and the product with the learning rate. EmbeddingBag: values, and the sample of
  /// each.
  [[nodiscard]] Bytes sparse_gradients(const EmbeddingBagShape& bags) const {
    if (!bags.has_sparse_gradients()) {
      return {};
    }
    const Bytes values = floats(bags.gradient_values(rank_));
    return bags.kernels == EmbeddingKernels::Joint
               ? 2 * values
               : values + static_cast<double>(bags.lookups(rank_)) * size_of(DataType::INT64);
  }

  /// Adagrad in lists of tensors: the roots of all sums at once (torch/optim/adagrad.py, foreach).
  void update() {
    move_to(DlrmMoment::Update);
    memory_.release(Use::Gradients, sparse_gradients_);
    if (dense_optimizer(shape_.optimizer) == Optimizer::Adagrad) {
      memory_.allocate(Use::Workspace, floats(trained_elements_ + replicated_elements_));
    }
  }

  [[nodiscard]] std::int64_t rows() const { return shape_.interaction.rows; }
  [[nodiscard]] bool is_fused() const {
    return shape_.interaction.kernels == InteractionKernels::Fused &&
           shape_.interaction.kind == Interaction::Dot;
  }
  [[nodiscard]] Bytes values(std::int64_t elements) const {  // of the MLPs and of products
    return static_cast<double>(elements) * size_of(shape_.activations);
  }
  [[nodiscard]] Bytes features(std::int64_t elements) const {
    return static_cast<double>(elements) * size_of(shape_.features);
  }
  [[nodiscard]] Bytes squares(int count) const {
    return count * values(rows() * shape_.interaction.features * shape_.interaction.features);
  }
  [[nodiscard]] Bytes crossed() const {  // by all cross layers
    const CrossShape& cross = shape_.cross;
    return cross.layers * (2 * features(rows() * cross.width) + values(rows() * cross.projection));
  }
  [[nodiscard]] Bytes interacted() const {
    return values(rows() * (shape_.interaction.dense_width + shape_.interaction.pairs()));
  }

  const DlrmMemoryShape& shape_;
  std::size_t rank_;
  std::int64_t mlp_elements_ = 0;      // of this rank
  std::int64_t trained_elements_ = 0;  // of them: not frozen
  std::int64_t shared_elements_ = 0;   // of these: of all ranks
  std::int64_t replicated_elements_ = 0;
  std::int64_t table_elements_ = 0;
  std::int64_t sharded_rows_ = 0;
  Bytes caches_{0};  // of tables in host memory, with what finds their rows
  Bytes sparse_gradients_{0};
  Bytes gradient_;  // of what was last gone back through
  MemoryLedger memory_;
};

}  // namespace

MemoryBreakdown dlrm_memory(const DlrmMemoryShape& shape, std::size_t rank) {
  return Counting{shape, rank}.count().peak();
}

std::vector<MemoryChange> dlrm_memory_changes(const DlrmMemoryShape& shape, std::size_t rank) {
  return Counting{shape, rank}.count().changes();
}

MemoryBreakdown dlrm_host_memory(const DlrmMemoryShape& shape, std::size_t rank) {
  MemoryBreakdown memory;
  for (const EmbeddingBagShape& bags : shape.bags) {
    memory[MemoryUse::Parameters] += floats(bags.weights(rank) - bags.weights_on_gpu(rank)).in_base_units();
  }
  return memory;
}

}  // namespace lockstep
