#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/measure/gpu_experiments.cuh"
#include "calibration/measure/grid_point.hpp"

namespace lockstep {

/// Tables of the same shape, and the lookups of one batch. A bag is the lookups of one sample in one table:
/// bag table * batch + sample holds indices [bag * pooling, (bag + 1) * pooling).
struct EmbeddingTables {
  std::int64_t tables, rows, dim, batch, pooling;
  std::string type;                 ///< of the weights: fp32 or fp16
  std::vector<std::int64_t> drawn;  ///< [bags * pooling], rows within the table, on the host
  std::int64_t unique_rows = 0;     ///< different rows over all tables
  SharedMemory weights;             ///< [tables, rows, dim]: random numbers of seed 1
  SharedMemory state;               ///< [tables * rows] fp32: row-wise Adagrad's sum of squares
  SharedMemory indices;             ///< [bags * pooling] int64
  SharedMemory output;              ///< [bags, dim] fp32
  SharedMemory gradient;            ///< [bags, dim] fp32, of the output: random numbers of seed 2

  [[nodiscard]] std::int64_t bags() const { return tables * batch; }
  [[nodiscard]] std::int64_t lookups() const { return bags() * pooling; }
};

/// Of a point of the family embedding. @throws CudaError
[[nodiscard]] std::shared_ptr<const EmbeddingTables> embedding_tables(const GridPoint& point);

/// output[bag] = sum of the bag's rows. A group of up to 32 threads takes a bag, each thread four columns at
/// a time.
[[nodiscard]] Launch embedding_forward(std::shared_ptr<const EmbeddingTables> tables);

/// The lookups ordered by row, on the GPU: what the update needs.
struct SortedLookups {
  SharedMemory keys, sorted_keys;  ///< [lookups] int64: table * rows + row
  SharedMemory bags, sorted_bags;  ///< [lookups] int32
  SharedMemory unique,
      first;             ///< [lookups] int64 rows that occur, and int32 where each begins among the sorted
  SharedMemory lengths;  ///< [lookups] int32: how often each occurs
  SharedMemory count;    ///< int32: how many rows occur
  SharedMemory often,
      often_count;  ///< int32: which of the unique rows occur often, how many do; the update fills them
  SharedMemory workspace;  ///< of CUB
};
[[nodiscard]] SortedLookups memory_for_sorting(const EmbeddingTables& tables);

/// Keys, radix sort, run lengths, prefix sum: as FBGEMM's transpose_embedding_input.
[[nodiscard]] Launch embedding_sort(std::shared_ptr<const EmbeddingTables> tables, SortedLookups sorted);

/// For every row that occurs: g = sum of the gradients of its bags; state += mean(g^2); weights -= rate g /
/// (sqrt(state) + eps). A group of threads takes a row, a block takes rows that occur more than 64 times.
/// *Valid for* a dim of at most 512.
[[nodiscard]] Launch embedding_update(std::shared_ptr<const EmbeddingTables> tables, SortedLookups sorted);

/// More occurrences of a row than these are summed by a block.
constexpr std::int64_t kOftenOccurs = 64;

/// Row-wise Adagrad's, as the MLPerf reference of DLRM sets them.
constexpr float kLearningRate = 0.01F;
constexpr float kAdagradEpsilon = 1e-8F;

}  // namespace lockstep
