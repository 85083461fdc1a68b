#pragma once

/// @file
/// What FBGEMM does with the lookups of its tables besides fetching and updating rows: checks, sorts by row,
/// run lengths. Kernels of ../shared/data/traces/dlrm_8xv100.

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/kernel.hpp"

namespace lockstep {

/// One kernel over all lookups: @p reads and @p writes of @p type for each. However few they are, a thread
/// loads @p chain values one after the other, each of which says where the next is, or waits for the blocks
/// before its own.
struct LookupPass {
  const char* kernel;  ///< its name, or what is telling of it
  DataType type;
  double reads, writes;
  std::int64_t chain = 0;    ///< loads
  std::int64_t of_bags = 0;  ///< loads for each bag of a warp and 32 of its lookups, besides
};

/// Chains are what the shortest of these kernels take beyond the smallest kernel of their trace, in loads of
/// PointwiseModel (200 clocks): 32 to 4,736 lookups on a V100 (../shared/data/traces/dlrm_8xv100: one tile's
/// sort 9 to 14 us, run lengths 5 to 8, scan 4 to 7, long segments 4, where an addition takes 3), 61,072 on
/// an A100 (single_rank/a100_rank3of8_six_steps: a histogram 7, a pass of the sort 13 to 15).
namespace lookup_pass {

inline constexpr LookupPass kCheckIndices{"bounds_check_indices_kernel", DataType::INT64, 1, 0, 23};
// A warp goes through its 32 bags one after the other: offset, index and row of each (FBGEMM
// embedding_backward_split_host: linearize_index_kernel). 10 to 14 us on the V100, 13 on the A100.
inline constexpr LookupPass kLinearizeIndex{"linearize_index_kernel", DataType::INT64, 1, 1.5, 0, 3};
inline constexpr LookupPass kLinearizeCacheIndices{"linearize_cache_indices_kernel", DataType::INT64, 1, 1};
// cub::DeviceRadixSort: 8 bytes of key and 4 of value.
inline constexpr LookupPass kSortSingleTile{"DeviceRadixSortSingleTileKernel", DataType::INT64, 1.5, 1.5, 65};
inline constexpr LookupPass kSortHistogram{"DeviceRadixSortHistogramKernel", DataType::INT64, 1, 0, 30};
inline constexpr LookupPass kSortOnesweep{"DeviceRadixSortOnesweepKernel", DataType::INT64, 1.5, 1.5, 75};
inline constexpr LookupPass kReduceByKey{"DeviceReduceByKeyKernel", DataType::INT64, 1, 1.5, 25};
inline constexpr LookupPass kScan{"DeviceScanKernel", DataType::INT32, 1, 1, 15};
inline constexpr LookupPass kFindLongSegments{"find_long_segments", DataType::INT32, 1, 0, 8};
inline constexpr LookupPass kFindUncached{"lru_cache_find_uncached_kernel", DataType::INT64, 1, 1};
inline constexpr LookupPass kLookUpCache{"lxu_cache_lookup_kernel", DataType::INT64, 1, 0.5};

}  // namespace lookup_pass

/// @param lookups of all bags @param bags of all tables
[[nodiscard]] KernelCall pass_over(const LookupPass& pass, std::int64_t lookups, std::int64_t bags);

/// The pass that a kernel of this name makes; null: none that is known.
[[nodiscard]] const LookupPass* lookup_pass_of(std::string_view kernel);

}  // namespace lockstep
