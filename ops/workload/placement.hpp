#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "base/units.hpp"
#include "ops/kernel.hpp"
#include "ops/workload/table_storage.hpp"

namespace lockstep {

/// How whole tables are given to GPUs. The greedy ones sort tables by a cost, largest first, and give each to
/// the GPU with the least cost so far among those with memory for it (ties: least memory used, then lowest
/// number), as AutoShard, DreamShard and NeuroShard define their baselines; size_buckets as
/// NVIDIA/DeepLearningExamples does for its DLRM (dlrm/utils/distributed.py, distribute_to_buckets).
enum class EmbeddingPlanner : std::uint8_t {
  RoundRobin,        ///< table i to GPU i modulo n
  SizeGreedy,        ///< cost: rows x dimension
  DimGreedy,         ///< cost: dimension
  LookupGreedy,      ///< cost: dimension x pooling factor
  SizeLookupGreedy,  ///< cost: dimension x pooling factor x log10(rows)
  SizeBuckets,       ///< cost: rows x dimension; at most ceil(tables / GPUs) tables on a GPU
};

constexpr auto names_of(EmbeddingPlanner) {
  return std::to_array<EnumName<EmbeddingPlanner>>(
      {{EmbeddingPlanner::RoundRobin, "round_robin"},
       {EmbeddingPlanner::SizeGreedy, "size_greedy"},
       {EmbeddingPlanner::DimGreedy, "dim_greedy"},
       {EmbeddingPlanner::LookupGreedy, "lookup_greedy"},
       {EmbeddingPlanner::SizeLookupGreedy, "size_lookup_greedy"},
       {EmbeddingPlanner::SizeBuckets, "size_buckets"}});
}

/// Numbers of the tables on each GPU, ascending.
using TablePlacement = std::vector<std::vector<std::size_t>>;

/// @param capacity by GPU: memory for tables
/// @param storage of a table in memory, optimizer state included
/// @throws std::invalid_argument naming the first table that fits nowhere and what is left on each GPU
[[nodiscard]] TablePlacement place_tables(std::span<const EmbeddingTable> tables,
                                          std::span<const Bytes> capacity, EmbeddingPlanner planner,
                                          const TableStorage& storage);

}  // namespace lockstep
