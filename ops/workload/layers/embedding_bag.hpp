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
  bool dense = false;  ///< backward leaves the gradient of whole tables instead of updating them

  [[nodiscard]] std::int64_t width(std::size_t rank) const;    ///< elements of all its tables' rows together
  [[nodiscard]] std::int64_t lookups(std::size_t rank) const;  ///< in one batch
  [[nodiscard]] std::int64_t offsets(std::size_t rank) const;  ///< batch x tables + 1
  [[nodiscard]] std::int64_t weights(std::size_t rank) const;  ///< elements of its tables
  [[nodiscard]] std::int64_t weights_on_gpu(std::size_t rank) const;  ///< of those with their rows there
  [[nodiscard]] std::int64_t rows_on_host(std::size_t rank) const;
  /// Cache of its tables in host memory: row places, sets of 32 (FBGEMM's DEFAULT_ASSOC), as wide as the
  /// widest table; and the rows of these tables.
  struct Cache {
    std::int64_t places = 0, width = 0, rows = 0;
  };
  [[nodiscard]] Cache cache(std::size_t rank) const;
  [[nodiscard]] bool is_cached() const;  ///< a table of some rank is
};

/// LookupFunction: one kernel for all tables of the rank (FBGEMM checks the indices first). With cached
/// tables the rows are fetched before: look-ups sorted for their different rows, those that the cache lacks
/// found, sorted by set and fetched, places looked up (FBGEMM split_embeddings_cache, lru_cache_populate).
void embedding_bag_forward(StepWriter& step, const EmbeddingBagShape& bags);

/// LookupFunctionBackward with the optimizer fused. FBGEMM sorts the look-ups by row, run-length encodes them
/// and updates each distinct row once: the kernels of ../shared/data/traces/dlrm_8xv100. Dense: the same
/// after zeros for the gradient, into which each distinct row's is written.
void embedding_bag_backward(StepWriter& step, const EmbeddingBagShape& bags);

}  // namespace lockstep
