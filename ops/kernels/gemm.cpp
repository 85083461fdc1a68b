#include "ops/kernels/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr std::array kSplits{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128};
constexpr double kShortestDepth = 32;  // a split leaves each part at least one 32-deep step of the inner loop
constexpr double kFullWarps = 16;      // four per scheduler hide the latency of the inner loop
constexpr double kLargestChecked = 40000;
constexpr Bytes kAlignment{16};     // of a row, for loads of four floats
constexpr Bytes kLeastCopy{4};      // of cp.async: the least that goes to shared memory past the registers
constexpr double kManyRows = 8192;  // rows of A from which long rows cost all that they can
constexpr std::int64_t kSmallGroup = 128;  // rows or columns
constexpr double kNoOverlap = 1;
constexpr double kGroupedHides = 3;  // arithmetic and memory of a grouped product; 1: they follow each other

/// Size of an element of the result in memory. Products of FP8 operands leave BF16 (Transformer Engine's
/// default output type).
Bytes size_of_result(const Gemm& gemm, DataType type) {
  if (gemm.added_to > 0) return Bytes{1.0 * gemm.added_to};
  return size_of(type == DataType::FP8 ? DataType::BF16 : type);
}

struct Shape {
  double batch, m, n, k;
};

Shape shape_of(const Gemm& gemm) {
  if (gemm.batch < 1 || gemm.m < 1 || gemm.n < 1 || gemm.k < 1) {
    throw std::invalid_argument(
        fmt::format("a product of {} x [{} x {}] [{} x {}]", gemm.batch, gemm.m, gemm.k, gemm.k, gemm.n));
  }
  return {static_cast<double>(gemm.batch), static_cast<double>(gemm.m), static_cast<double>(gemm.n),
          static_cast<double>(gemm.k)};
}

/// A is [m, k] and B [k, n], or transposed: rows of A run along k, those of B do not.
double rate_across_k(const Gemm& gemm, const GemmProfile& profile) {
  const int across = int{gemm.transpose_a} + int{!gemm.transpose_b};
  return across == 0 ? 1 : across == 1 ? profile.one_across_k : profile.both_across_k;
}

/// Whether rows of all matrices are multiples of @p of; those of the result count on tensor cores.
bool rows_are_multiples(Bytes of, const Gemm& gemm, DataType type, bool on_tensor_cores) {
  const Bytes along_k = size_of(type) * static_cast<double>(gemm.k);
  const Bytes row_of_a = gemm.transpose_a ? size_of(type) * static_cast<double>(gemm.m) : along_k;
  const Bytes row_of_b = gemm.transpose_b ? along_k : size_of(type) * static_cast<double>(gemm.n);
  const Bytes row_of_c = size_of_result(gemm, type) * static_cast<double>(gemm.n);
  const auto is_multiple = [&](Bytes row) { return std::fmod(row / of, 1) == 0; };
  return is_multiple(row_of_a) && is_multiple(row_of_b) && (!on_tensor_cores || is_multiple(row_of_c));
}

/// Share of the rate of short and aligned rows.
double rate_of_rows(const Gemm& gemm, DataType type, const GemmProfile& profile, bool on_tensor_cores) {
  const Bytes along_k = size_of(type) * static_cast<double>(gemm.k);
  double rate = rate_across_k(gemm, profile);
  if (!rows_are_multiples(kAlignment, gemm, type, on_tensor_cores)) {
    const bool along_both = !gemm.transpose_a && gemm.transpose_b;
    rate = rows_are_multiples(kLeastCopy, gemm, type, on_tensor_cores)
               ? profile.unaligned
               : profile.odd.value_or(profile.unaligned) * (along_both ? profile.odd_along_k : 1);
  }
  const LongRows& rows = profile.long_rows;
  if (rows.slowdown == 0 || gemm.transpose_a || !gemm.transpose_b) return rate;
  const double is_long = std::clamp((along_k - rows.from) / (rows.to - rows.from), 0.0, 1.0);
  const double many = std::cbrt(std::min(1.0, static_cast<double>(gemm.m) / kManyRows));
  return rate / (1 + rows.slowdown * is_long * many);
}

/// Bytes that operands and result move once.
Bytes moved_once(const Gemm& gemm, const Shape& of, DataType type) {
  return size_of(type) * (of.batch * (of.m + of.n) * of.k) +
         size_of_result(gemm, type) * (of.batch * of.m * of.n * (gemm.added_to > 0 ? 2.0 : 1.0));
}

/// Kernels without tiles take it: gemv and dot a matrix and a vector, gemmk1 two vectors' outer products in a
/// batch, which Pascal, whose GPUs have no tensor cores, leaves to tiles.
bool is_of_vectors(const Gemm& gemm, const GpuSpec& gpu) {
  const bool is_outer = gemm.k == 1 && gemm.batch > 1 && gpu.peak.fp16 > FlopsPerSecond{0};
  return gemm.m == 1 || gemm.n == 1 || is_outer;
}

/// One way to compute a product: a tile shape and a split of k.
struct Tiling {
  const GemmTile& tile;
  double split;
  double down, across;  ///< tiles of one matrix

  Tiling(const Shape& of, const GemmTile& shape, int parts)
      : tile{shape},
        split{static_cast<double>(parts)},
        down{std::ceil(of.m / shape.rows)},
        across{std::ceil(of.n / shape.columns)} {}
};

/// @param rate FLOP/s of one SM that is full
/// @param of_rate what rows that are not aligned, or long, leave of it; a tile's fixed part loses nothing
Seconds compute_time(const Shape& of, const Tiling& by, const GemmProfile& profile, double sms,
                     FlopsPerSecond rate, double of_rate) {
  const double blocks = std::ceil(of.batch * by.down * by.across * by.split / sms);
  const double warps = std::min(blocks * by.tile.warps, kFullWarps);
  const double full = warps / (warps + profile.half_warps) * (kFullWarps + profile.half_warps) / kFullWarps;
  const double depth = std::ceil(of.k / by.split) / of_rate + profile.fixed_depth;
  return Flops{2 * blocks * by.tile.rows * by.tile.columns * depth} / (rate * (by.tile.efficiency * full));
}

/// Additions of FP8's partial sums in FP32's registers (Gemm::split_accumulator) that products do not hide.
Seconds promotion_time(const Shape& of, const Tiling& by, const GpuSpec& gpu) {
  constexpr double kPromotionDepth = 128;  // of k, four instructions
  constexpr double kFlopsOfPeak = 2;       // a lane adds once where it could multiply and add
  constexpr double kExposed = 0.18;
  const double blocks = std::ceil(of.batch * by.down * by.across * by.split / gpu.sm_count);
  const double sums = std::ceil(of.k / by.split / kPromotionDepth);
  return Flops{kExposed * kFlopsOfPeak * blocks * by.tile.rows * by.tile.columns * sums} /
         (peak_of(gpu, DataType::FP32) / gpu.sm_count);
}

/// Time of arithmetic and of writing the result, which hide each other in part (GemmProfile::write_overlap).
Seconds joined(Seconds compute, Seconds writing, double overlap) {
  const double longer = std::max(compute, writing) / Seconds{1},
               shorter = std::min(compute, writing) / Seconds{1};
  return Seconds{longer * std::pow(1 + std::pow(shorter / longer, overlap), 1 / overlap)};
}

/// The library's kernels for a product: their tiles, and how these write the result.
struct Kernels {
  const std::vector<GemmTile>& tiles;
  std::optional<double> overlap;
};

Kernels kernels_for(const Gemm& gemm, const GemmProfile& profile, DataType type, bool on_tensor_cores) {
  const bool aligned = rows_are_multiples(kAlignment, gemm, type, on_tensor_cores);
  if (aligned || profile.unaligned_tiles.empty()) return {profile.tiles, profile.write_overlap};
  return {profile.unaligned_tiles, profile.write_overlap ? std::optional{kNoOverlap} : std::nullopt};
}

/// Elements of A and B that waves of tiles read, each wave what its tiles have in common once.
double reread(const Shape& of, const Tiling& by, double sms) {
  const double resident = sms * std::max(1.0, std::floor(kFullWarps / by.tile.warps));
  const double wave = std::max(1.0, std::min(by.down * by.across, resident / by.split));
  const double across = std::min(by.across, wave);
  const double distinct = across * by.tile.columns + std::min(std::ceil(wave / across) * by.tile.rows, of.m);
  return of.batch * by.down * by.across / wave * distinct * of.k;
}

/// The library splits k where tiles alone leave SMs idle.
bool may_split(const Shape& of, const Tiling& by, const GemmProfile& profile, const GpuSpec& gpu) {
  return !profile.most_tiles_to_split ||
         of.batch * by.down * by.across <= *profile.most_tiles_to_split * gpu.sm_count;
}

/// PyTorch's choice (GroupMM.cu), or the tile of the library that is most like it.
const GemmTile& tile_of_groups(const Gemm& gemm, const GemmProfile& profile) {
  const bool small = gemm.m <= kSmallGroup || gemm.n <= kSmallGroup;
  const double rows = small ? 64 : 128, columns = small ? 128 : 256;
  const auto unlike = [&](const GemmTile& tile) {
    return std::abs(std::log(tile.rows / rows)) + std::abs(std::log(tile.columns / columns));
  };
  return *std::ranges::min_element(profile.tiles, {}, unlike);
}

Seconds time_of_grouped(const Gemm& gemm, const GemmProfile& profile, const GpuSpec& gpu, DataType type) {
  const Shape of = shape_of(gemm);
  const FlopsPerSecond rate = peak_of(gpu, type) / gpu.sm_count;
  const double of_rate = rate_of_rows(gemm, type, profile, uses_tensor_cores(gpu, type));
  const Seconds compute =
      compute_time(of, {of, tile_of_groups(gemm, profile), 1}, profile, gpu.sm_count, rate, of_rate);
  const Seconds memory = moved_once(gemm, of, type) / (gpu.memory_bandwidth * profile.memory);
  return profile.fixed + joined(compute, memory, kGroupedHides);
}

}  // namespace

Seconds time_of_product(const Gemm& gemm, const GemmProfile& profile, const GpuSpec& gpu, DataType type,
                        std::optional<Bytes> moved) {
  const Shape of = shape_of(gemm);
  const FlopsPerSecond rate = peak_of(gpu, type) / gpu.sm_count;
  const bool on_tensor_cores = uses_tensor_cores(gpu, type);
  const double of_rate = rate_of_rows(gemm, type, profile, on_tensor_cores);
  const Kernels kernels = kernels_for(gemm, profile, type, on_tensor_cores);
  const BytesPerSecond dram = gpu.memory_bandwidth * profile.memory;
  const Bytes result = size_of_result(gemm, type) * (of.batch * of.m * of.n);
  const Bytes once = moved.value_or(moved_once(gemm, of, type));
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const int split : kSplits) {
    if (split > profile.largest_split || (split > 1 && of.k < split * kShortestDepth)) break;
    const Bytes parts = result * (split == 1 ? 0.0 : split + 1.0);
    const Seconds memory = (once + parts) / dram;
    for (const GemmTile& tile : kernels.tiles) {
      const Tiling by{of, tile, split};
      if (split > 1 && !may_split(of, by, profile, gpu)) continue;
      Seconds compute = compute_time(of, by, profile, gpu.sm_count, rate, of_rate);
      if (gemm.split_accumulator && profile.promotes_fp8) compute += promotion_time(of, by, gpu);
      if (profile.exposed > 0) {
        compute += size_of(type) * reread(of, by, gpu.sm_count) / dram * profile.exposed;
      }
      if (kernels.overlap) compute = joined(compute, (result + parts) / dram, *kernels.overlap);
      best = std::min(best, std::max(compute, memory) + profile.fixed * (split == 1 ? 1 : kSplitLaunch));
    }
  }
  return best;
}

namespace {

/// Whether a product may leave tensor cores. For unaligned rows of TF32 the library has kernels of FP32's own
/// cores, too (sm80_xmma_gemm_f32f32_f32f32_f32_..._ffma): they read elements one by one at no loss.
bool may_leave_tensor_cores(const Gemm& gemm, const GpuSpec& gpu, DataType type) {
  return type == DataType::TF32 && uses_tensor_cores(gpu, type) &&
         !rows_are_multiples(kAlignment, gemm, type, true);
}

}  // namespace

std::string GemmModel::name() const {
  return "gemm: tiles in waves over the SMs, roofline";
}

Prediction GemmModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& gemm = std::get<Gemm>(call.work);
  const Shape shape = shape_of(gemm);
  const bool tensor = uses_tensor_cores(gpu, call.type);
  const KernelEfficiency& reached = *gpu.efficiency;
  const GemmProfile& on_tensor_cores =
      call.type == DataType::TF32 && reached.tf32 ? *reached.tf32 : reached.tensor;
  const GemmProfile& on_cores = gemm.batch > 1 ? reached.fp32_batched : reached.fp32;
  const GemmProfile& profile = tensor ? on_tensor_cores : on_cores;
  const bool in_range = std::max({shape.m, shape.n, shape.k}) <= kLargestChecked;
  const bool is_own = profile.calibrated && call.type != DataType::FP8;
  if (gemm.grouped) {
    return make_prediction(time_of_grouped(gemm, profile, gpu, call.type), 0.15, is_own, in_range);
  }
  Gemm all = gemm;
  all.batch *= gemm.concurrent;
  Seconds time = time_of_product(all, profile, gpu, call.type);
  if (may_leave_tensor_cores(gemm, gpu, call.type)) {
    time = std::min(time, time_of_product(all, on_cores, gpu, DataType::FP32));
  }
  if (is_of_vectors(gemm, gpu)) {
    const Bytes moved = moved_once(all, shape_of(all), call.type);
    time = std::min(
        time, std::min(profile.fixed, on_cores.fixed) + moved / (gpu.memory_bandwidth * profile.memory));
  }
  return make_prediction(time / gemm.concurrent, 0.15, is_own, in_range);
}

}  // namespace lockstep
