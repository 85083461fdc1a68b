#include "ops/workload/layers/sorting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep::kernels {
namespace {

// Read off an H100's rows (calibration/measurements/h100/pytorch_experts.csv): instructions of a thread at
// the rate of time_to_issue(), and loads of 200 clocks (PointwiseModel) for which a thread waits.

/// gatherTopK of 8 to 128 FP32 values a slice: of a thread, and of each of its values.
constexpr double kSelect = 500, kSelectOfAValue = 500;
/// bitonicSortKVInPlace, 4,096 to 65,536 slices: 15 of these sort 32 values.
constexpr double kCompareAndSwap = 56;
/// radixSortKVInPlace, 32.2 us of 16 passes over 32 keys a thread: loads of a key in a pass.
constexpr double kRankOfAKey = 0.59;
/// DeviceRadixSortOnesweepKernel, 5.6 to 6.1 us for 16,384 to 65,536 keys: loads of a pass.
constexpr std::int64_t kLookBack = 42;
/// DeviceRadixSortSingleTileKernel, 15.5 us of 11 passes over 2,048 keys of 8 bytes (variant_kernels.csv):
/// loads of a pass.
constexpr std::int64_t kRankInATile = 12;

constexpr std::int64_t kWarp = 32, kLargestBlock = 1024;
constexpr double kSchedulers = 4, kReached = 0.65, kClocksOfALoad = 200;  // time_to_issue(), PointwiseModel
constexpr DataType kPlace = DataType::INT64;                              // of a value in its slice
constexpr std::int64_t kSmallSort = 4096, kKeysOfAThread = 32;
constexpr Bytes kSingleTile{256 * 9 * 8.0};  // a block of 256 threads with 9 keys of 8 bytes each

std::int64_t up_to_whole(std::int64_t number, std::int64_t unit) {
  return (number + unit - 1) / unit * unit;
}

/// Loads that would take as long as the last block, alone on its SM: its warps share four schedulers.
std::int64_t last_block(double instructions, std::int64_t threads) {
  const double in_turn = std::max(1.0, static_cast<double>(threads) / kWarp / kSchedulers);
  return std::llround(instructions * in_turn / kReached / kClocksOfALoad);
}

int bits_of(DataType type) {
  return static_cast<int>(8 * size_of(type).in_base_units());
}

/// A bitonic network: half a thread for each of a power of two of places, 32 at least, and blocks of 256
/// threads.
KernelCall sort_few(std::int64_t slices, std::int64_t chosen, DataType type) {
  constexpr std::int64_t kFewestPlaces = 32, kBlock = 256;
  const auto least = static_cast<std::uint64_t>(std::max(chosen, kFewestPlaces));
  const auto places = static_cast<double>(std::bit_ceil(least));
  const double merges = std::log2(places);
  const double instructions = merges * (merges + 1) / 2 * kCompareAndSwap;
  const double both = 1 + size_of(kPlace) / size_of(type);
  return {"bitonicSortKVInPlace", type,
          Pointwise{.elements = slices * chosen,
                    .reads = both,
                    .writes = both,
                    .instructions = instructions * places / 2 / static_cast<double>(chosen),
                    .chain = last_block(instructions, kBlock)}};
}

KernelCall sort_by_block(std::int64_t slices, std::int64_t length, DataType type) {
  constexpr double kBitsOfAPass = 4;
  const double passes = bits_of(type) / kBitsOfAPass;
  const double both = 1 + size_of(kPlace) / size_of(type);  // keys and where they were
  return {"radixSortKVInPlace", type,
          Pointwise{.elements = slices * length,
                    .reads = both,
                    .writes = both,
                    .chain = std::llround(kRankOfAKey * passes * kKeysOfAThread)}};
}

}  // namespace

KernelCall select(std::int64_t slices, std::int64_t length, DataType type) {
  const std::int64_t threads = std::min(kLargestBlock, up_to_whole(length, kWarp));
  const std::int64_t values = up_to_whole(length, threads) / threads;
  const double instructions = kSelect + kSelectOfAValue * static_cast<double>(values);
  return {"gatherTopK", type,
          Pointwise{.elements = slices * length,
                    .writes = 0,
                    .instructions = instructions * static_cast<double>(threads) / static_cast<double>(length),
                    .chain = last_block(instructions, threads)}};
}

std::vector<KernelCall> top_k(std::int64_t slices, std::int64_t length, std::int64_t chosen, DataType type) {
  return {select(slices, length, type), sort_few(slices, chosen, type)};
}

std::vector<KernelCall> argsort(std::int64_t slices, std::int64_t length, DataType type) {
  const std::int64_t all = slices * length;
  const KernelCall places = copy_on_device(size_of(kPlace) * static_cast<double>(all));
  if (length <= kSmallSort) {
    return {elementwise("arange", length, kPlace, {.reads = 0}),
            slices == 1 ? places : by_offsets("copy", all, kPlace, {.reads = 0}),
            copy_on_device(size_of(type) * static_cast<double>(all)), sort_by_block(slices, length, type),
            places};
  }
  std::vector<KernelCall> sort{elementwise("fill_indices", all, kPlace, {.reads = 0})};
  const auto append = [&](const std::vector<KernelCall>& kernels) {
    sort.insert(sort.end(), kernels.begin(), kernels.end());
  };
  append(radix_sort_pairs(all, type, bits_of(type)));
  if (slices > 1) {
    append(
        radix_sort_pairs(all, kPlace, static_cast<int>(std::ceil(std::log2(static_cast<double>(slices))))));
    sort.push_back(by_offsets("sort_postprocess_kernel", all, kPlace, {.reads = 2, .writes = 2}));
  } else {
    sort.push_back(places);
  }
  return sort;
}

std::vector<KernelCall> radix_sort_pairs(std::int64_t count, DataType key, int bits) {
  constexpr int kBitsOfAPass = 8, kDigits = 256;
  const int passes = (bits + kBitsOfAPass - 1) / kBitsOfAPass;
  const Bytes digits = size_of(DataType::INT32) * (1.0 * passes * kDigits);
  const auto memset = [](Bytes size) { return KernelCall{"Memset (Device)", DataType::FP32, Memset{size}}; };
  const double both = 1 + size_of(kPlace) / size_of(key);
  if (static_cast<double>(count) * size_of(key) <= kSingleTile) {
    constexpr int kBitsInATile = 6;
    return {{"DeviceRadixSortSingleTileKernel", key,
             Pointwise{.elements = count,
                       .reads = both,
                       .writes = both,
                       .chain = (bits + kBitsInATile - 1) / kBitsInATile * kRankInATile}}};
  }
  std::vector<KernelCall> sort{
      memset(Bytes{4.0 * passes}),
      memset(digits),
      {"DeviceRadixSortHistogramKernel", key, Pointwise{.elements = count, .writes = 0}},
      {"DeviceRadixSortExclusiveSumKernel", DataType::INT32,
       Pointwise{.elements = std::int64_t{passes} * kDigits}}};
  for (int pass = 0; pass < passes; ++pass) {
    sort.push_back(memset(digits));
    sort.push_back({"DeviceRadixSortOnesweepKernel", key,
                    Pointwise{.elements = count, .reads = both, .writes = both, .chain = kLookBack}});
  }
  return sort;
}

}  // namespace lockstep::kernels
