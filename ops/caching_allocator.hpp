#pragma once

/// @file
/// When PyTorch's caching allocator asks the driver for device memory.

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace lockstep {

/// PyTorch's caching allocator of one stream: which allocations find a freed block and which need a call of
/// cudaMalloc.
///
///   sizes       multiples of 512 B; 1 MiB and less come from segments of 2 MiB, the others from segments of
///               20 MiB (below 10 MiB) or of their own size, in multiples of 2 MiB
///   which       the smallest free block that is large enough, of segments of the same kind
///   splitting   what is left of it, where that is 512 B or more (small), or more than 1 MiB
///   freeing     joins free neighbours of the same segment; only empty_cache() gives segments back
///
/// *Assumes* the default settings (no max_split_size, no expandable segments). *Source*: PyTorch 2.1,
/// c10/cuda/CUDACachingAllocator.cpp (get_free_block, alloc_block, should_split, release_cached_blocks).
class CachingAllocator {
 public:
  using Block = std::size_t;

  /// @param size in bytes, >= 0; PyTorch allocates nothing for none, this class the least block
  Block allocate(Bytes size);
  /// @throws std::logic_error for a block that is free
  void release(Block block);
  /// torch.cuda.empty_cache(): gives the segments back of which no part is in use.
  void empty_cache();

  [[nodiscard]] std::size_t malloc_calls() const { return malloc_calls_; }  ///< of cudaMalloc, so far
  [[nodiscard]] std::size_t free_calls() const { return free_calls_; }      ///< of cudaFree, so far
  [[nodiscard]] Bytes reserved() const { return Bytes{static_cast<double>(reserved_)}; }

 private:
  static constexpr Block kNone = static_cast<Block>(-1);
  struct Part {
    std::int64_t size = 0;
    bool is_small = false, is_free = false;
    Block before = kNone, after = kNone;  // neighbours of the same segment
  };
  using FreeParts = std::set<std::pair<std::int64_t, Block>>;  // by size

  [[nodiscard]] FreeParts& free_parts(const Part& part) { return free_.at(part.is_small ? 0 : 1); }
  Block take(bool is_small, std::int64_t size);
  Block new_segment(bool is_small, std::int64_t size);
  void split(Block block, std::int64_t size);
  void join(Block first, Block second);

  std::vector<Part> parts_;  // also those that were joined to others
  std::array<FreeParts, 2> free_;
  std::size_t malloc_calls_ = 0, free_calls_ = 0;
  std::int64_t reserved_ = 0;
};

}  // namespace lockstep
