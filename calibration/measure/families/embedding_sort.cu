#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>

#include "calibration/measure/families/embedding.cuh"
#include "calibration/measure/families/embedding_groups.cuh"

namespace lockstep {
namespace {

__global__ void make_keys(const std::int64_t* indices, std::int64_t* keys, std::int32_t* bags,
                          std::int64_t lookups, LookupShape shape) {
  const std::int64_t i = thread_index();
  if (i < lookups) {
    const std::int64_t bag = i / shape.pooling;
    keys[i] = bag / shape.batch * shape.rows + indices[i];
    bags[i] = static_cast<std::int32_t>(bag);
  }
}

/// CUB's three steps, one behind the other. Without a workspace they only say how much they need.
std::size_t sort_lookups(const EmbeddingTables& t, const SortedLookups& s, cudaStream_t stream) {
  const auto count = static_cast<int>(t.lookups());
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(t.tables * t.rows)));
  void* const workspace = s.workspace ? s.workspace->as<void>() : nullptr;
  const std::size_t there = s.workspace ? s.workspace->bytes() : 0;
  std::size_t sort = there;
  std::size_t encode = there;
  std::size_t scan = there;
  LOCKSTEP_CHECK(cub::DeviceRadixSort::SortPairs(
      workspace, sort, s.keys->as<std::int64_t>(), s.sorted_keys->as<std::int64_t>(),
      s.bags->as<std::int32_t>(), s.sorted_bags->as<std::int32_t>(), count, 0, bits, stream));
  LOCKSTEP_CHECK(cub::DeviceRunLengthEncode::Encode(
      workspace, encode, s.sorted_keys->as<std::int64_t>(), s.unique->as<std::int64_t>(),
      s.lengths->as<std::int32_t>(), s.count->as<std::int32_t>(), count, stream));
  LOCKSTEP_CHECK(cub::DeviceScan::ExclusiveSum(workspace, scan, s.lengths->as<std::int32_t>(),
                                               s.first->as<std::int32_t>(), count, stream));
  return std::max({sort, encode, scan});
}

}  // namespace

SortedLookups memory_for_sorting(const EmbeddingTables& tables) {
  const std::int64_t count = tables.lookups();
  SortedLookups s{.keys = device_memory(count * 8),
                  .sorted_keys = device_memory(count * 8),
                  .bags = device_memory(count * 4),
                  .sorted_bags = device_memory(count * 4),
                  .unique = device_memory(count * 8),
                  .first = device_memory(count * 4),
                  .lengths = zeros(count * 4),
                  .count = device_memory(4),
                  .often = device_memory(count / kOftenOccurs * 4),
                  .often_count = device_memory(4),
                  .workspace = {}};
  s.workspace = device_memory(static_cast<std::int64_t>(sort_lookups(tables, s, nullptr)));
  return s;
}

Launch embedding_sort(std::shared_ptr<const EmbeddingTables> tables, SortedLookups sorted) {
  return [tables, sorted, blocks = blocks_for(tables->lookups(), kThreads)](cudaStream_t stream) {
    make_keys<<<blocks, kThreads, 0, stream>>>(
        tables->indices->as<std::int64_t>(), sorted.keys->as<std::int64_t>(), sorted.bags->as<std::int32_t>(),
        tables->lookups(), shape_of(*tables));
    LOCKSTEP_CHECK(cudaGetLastError());
    static_cast<void>(sort_lookups(*tables, sorted, stream));
  };
}

}  // namespace lockstep
