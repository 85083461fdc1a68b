#pragma once

/// @file
/// What FBGEMM does with the lookups of its tables besides fetching and updating rows: checks, sorts by row,
/// run lengths. Kernels of ../shared/data/traces/dlrm_8xv100.

#include <array>
#include <string_view>

#include "ops/kernel.hpp"

namespace lockstep {

/// One kernel over all lookups: @p reads and @p writes of @p type for each.
struct LookupPass {
  const char* kernel;  ///< its name, or what is telling of it
  DataType type;
  double reads, writes;
};

namespace lookup_pass {

inline constexpr LookupPass kCheckIndices{"bounds_check_indices_kernel", DataType::INT64, 1, 0};
inline constexpr LookupPass kLinearizeIndex{"linearize_index_kernel", DataType::INT64, 1, 1.5};
inline constexpr LookupPass kLinearizeCacheIndices{"linearize_cache_indices_kernel", DataType::INT64, 1, 1};
// cub::DeviceRadixSort: 8 bytes of key and 4 of value.
inline constexpr LookupPass kSortSingleTile{"DeviceRadixSortSingleTileKernel", DataType::INT64, 1.5, 1.5};
inline constexpr LookupPass kSortHistogram{"DeviceRadixSortHistogramKernel", DataType::INT64, 1, 0};
inline constexpr LookupPass kSortOnesweep{"DeviceRadixSortOnesweepKernel", DataType::INT64, 1.5, 1.5};
inline constexpr LookupPass kReduceByKey{"DeviceReduceByKeyKernel", DataType::INT64, 1, 1.5};
inline constexpr LookupPass kScan{"DeviceScanKernel", DataType::INT32, 1, 1};
inline constexpr LookupPass kFindLongSegments{"find_long_segments", DataType::INT32, 1, 0};
inline constexpr LookupPass kFindUncached{"lru_cache_find_uncached_kernel", DataType::INT64, 1, 1};
inline constexpr LookupPass kLookUpCache{"lxu_cache_lookup_kernel", DataType::INT64, 1, 0.5};

}  // namespace lookup_pass

/// The pass that a kernel of this name makes; null: none that is known.
[[nodiscard]] const LookupPass* lookup_pass_of(std::string_view kernel);

}  // namespace lockstep
