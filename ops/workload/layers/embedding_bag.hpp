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
};

/// LookupFunction: one kernel for all tables of the rank (FBGEMM checks the indices first).
void embedding_bag_forward(StepWriter& step, const EmbeddingBagShape& bags);

/// LookupFunctionBackward with the optimizer fused. FBGEMM sorts the look-ups by row, run-length encodes them
/// and updates each distinct row once: the kernels of ../shared/data/traces/dlrm_8xv100. Dense: the same
/// after zeros for the gradient, into which each distinct row's is written.
void embedding_bag_backward(StepWriter& step, const EmbeddingBagShape& bags);

}  // namespace lockstep
