#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Table-batched embeddings placed table-wise: each rank looks up its tables for the whole batch.
struct EmbeddingBagShape {
  std::int64_t batch = 0;                           ///< global
  std::vector<std::vector<EmbeddingTable>> tables;  ///< by rank
  EmbeddingKernels kernels = EmbeddingKernels::Fbgemm;
  Optimizer optimizer = Optimizer::Sgd;

  [[nodiscard]] std::int64_t width(std::size_t rank) const;    ///< elements of all its tables' rows together
  [[nodiscard]] std::int64_t lookups(std::size_t rank) const;  ///< in one batch
  [[nodiscard]] std::int64_t offsets(std::size_t rank) const;  ///< batch x tables + 1
};

/// LookupFunction: one kernel for all tables of the rank (FBGEMM checks the indices first).
void embedding_bag_forward(StepWriter& step, const EmbeddingBagShape& bags);

/// LookupFunctionBackward with the optimizer fused. FBGEMM sorts the look-ups by row, run-length encodes them
/// and updates each distinct row once: the kernels of ../shared/data/traces/dlrm_8xv100.
void embedding_bag_backward(StepWriter& step, const EmbeddingBagShape& bags);

}  // namespace lockstep
