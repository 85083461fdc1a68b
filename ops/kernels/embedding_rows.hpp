#pragma once

/// @file
/// Which rows of an embedding table a batch touches, and whether they are on the GPU.

#include "ops/kernel.hpp"

namespace lockstep {

/// Rows in whole 32-byte sectors (CUDA C++ Programming Guide), bytes. @param element bytes
[[nodiscard]] double row_bytes(const EmbeddingTable& table, double element);

/// Different rows among @p lookups of one batch: rows (1 - (1 - 1/rows)^lookups) when uniform,
/// lookups / reuse_factor where that is given, that of the table's index_model() where its rows are not
/// alike.
[[nodiscard]] double distinct_rows(const EmbeddingTable& table, double lookups);

/// The rows of one batch by where they are.
struct BatchRows {
  double gpu_lookups = 0, gpu_distinct = 0;    ///< in GPU memory, its cache included
  double host_lookups = 0, host_distinct = 0;  ///< in host memory when the lookup comes to them
  double inserted = 0;                         ///< different rows that go into the cache before the lookup
};

/// N lookups of d different rows; HostCached tables have a cache of C = cache_load_factor rows places.
///
///   popularity   w = exp(s z - s^2 / 2) of a row, z normal; L = N / rows
///   skew         s such that rows E[1 - exp(-L w)] = d, 0 for uniform indices
///   cached       T such that rows E[1 - exp(-L w T)] = C: a row stays for T batches (Che's approximation)
///   missing      m = d E[(1 - exp(-L w)) exp(-L w T)] / E[1 - exp(-L w)];  uniform: d (1 - C / rows)
///   inserted     m where the batch fits (d <= C), else what has a place: min(m, C - (d - m))
///   on the host  d - C different rows that find no place, and their part of the lookups
///
/// *Assumes* lognormal popularities, independent lookups, a full cache that replaces the least recently used
/// row and is fully associative (FBGEMM: sets of 32), as many places for each table as its own rows call for.
/// *Valid for* the steady state of training.
/// *Source*: Che, Tung and Wang, "Hierarchical Web caching systems", IEEE JSAC 20(7), 2002 (T); FBGEMM
/// split_embeddings_cache (lru_cache_populate: rows of a batch are fetched once, a row without a place is
/// read where it is); lognormal: bins of ../shared/data/embedding.
[[nodiscard]] BatchRows batch_rows(const EmbeddingTable& table, double lookups);

}  // namespace lockstep
