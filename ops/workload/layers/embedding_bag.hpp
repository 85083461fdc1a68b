#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Table-batched embeddings: each rank looks up its tables, or parts of tables.
struct EmbeddingBagShape {
  std::int64_t batch = 0;                           ///< global; data-parallel tables: of a rank
  std::vector<std::vector<EmbeddingTable>> tables;  ///< by rank
  EmbeddingKernels kernels = EmbeddingKernels::Fbgemm;
  Optimizer optimizer = Optimizer::Sgd;
  bool fixed = false;  ///< EmbeddingBag: each sample has equally many lookups, offsets are made of that
  bool dense = false;  ///< backward leaves the gradient of whole tables instead of updating them
  DataType features = DataType::FP32;  ///< what the model goes on with: pooled rows are cast to it

  [[nodiscard]] std::int64_t width(std::size_t rank) const;    ///< elements of all its tables' rows together
  [[nodiscard]] std::int64_t lookups(std::size_t rank) const;  ///< in one batch
  [[nodiscard]] std::int64_t offsets(std::size_t rank) const;  ///< batch x tables + 1
  /// Backward leaves values that embedding_bag_update() adds.
  [[nodiscard]] bool has_sparse_gradients() const {
    return kernels == EmbeddingKernels::Joint || (kernels == EmbeddingKernels::EmbeddingBag && !dense);
  }
  /// Elements of each tensor with a gradient as large: EmbeddingBag has a module for each table, others one
  /// for all. None unless dense.
  [[nodiscard]] std::vector<std::int64_t> dense_parameters() const;
  /// Elements of its sparse gradients: a row for each lookup.
  [[nodiscard]] std::int64_t gradient_values(std::size_t rank) const;
  [[nodiscard]] std::int64_t weights(std::size_t rank) const;         ///< elements of its tables
  [[nodiscard]] std::int64_t weights_on_gpu(std::size_t rank) const;  ///< of those with their rows there
  [[nodiscard]] std::int64_t rows(std::size_t rank) const;
  /// Cache of its tables in host memory: row places, sets of 32 (FBGEMM's DEFAULT_ASSOC), as wide as the
  /// widest table; and the rows of these tables.
  struct Cache {
    std::int64_t places = 0, width = 0, rows = 0;
  };
  [[nodiscard]] Cache cache(std::size_t rank) const;
  [[nodiscard]] bool is_cached() const;  ///< a table of some rank is
};

/// LookupFunction: one kernel for all tables of the rank (FBGEMM checks the indices first). With cached
/// tables the rows are fetched before: lookups sorted for their different rows, those that the cache lacks
/// found, sorted by set and fetched, places looked up (FBGEMM split_embeddings_cache, lru_cache_populate).
///
/// Joint: the indices get their tables' offsets and one kernel gathers the rows; on one rank it writes them
/// in 16 bits itself (gather_gpu_fused.cu of NVIDIA/DeepLearningExamples), on several they are cast before
/// they travel. EmbeddingBag: torch_embedding_bag.hpp, here and below.
void embedding_bag_forward(StepWriter& step, const EmbeddingBagShape& bags);

/// LookupFunctionBackward with the optimizer fused. FBGEMM sorts the lookups by row, run-length encodes them
/// and updates each distinct row once: the kernels of ../shared/data/traces/dlrm_8xv100. Dense: the same
/// after zeros for the gradient, into which each distinct row's is written. Joint: the values of a sparse
/// gradient, which embedding_bag_update() adds.
void embedding_bag_backward(StepWriter& step, const EmbeddingBagShape& bags);

/// torch.optim.SGD on the sparse gradient of joint tables, which nobody has coalesced: its values times the
/// learning rate, then index_add_ (aten/src/ATen/native/sparse/cuda/SparseCUDATensorMath.cu). Tables of
/// Batched and Fbgemm are up to date behind backward.
void embedding_bag_update(StepWriter& step, const EmbeddingBagShape& bags);

/// torch.cuda.amp.GradScaler.unscale_() of those gradients' values.
void embedding_bag_unscale(StepWriter& step, const EmbeddingBagShape& bags);

}  // namespace lockstep
