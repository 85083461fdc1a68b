#include "ops/kernels/kernel_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ops/data_type_name.hpp"
#include "ops/kernels/embedding_rows.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

using namespace literals;

struct Tile {
  double rows, columns;
};
/// Tiles of cuBLAS' kernels, as their names say (NeuSight, vidur's traces).
constexpr std::array kTiles{Tile{256, 128}, Tile{128, 256}, Tile{128, 128}, Tile{64, 128}, Tile{128, 64},
                            Tile{64, 64},   Tile{32, 128},  Tile{128, 32},  Tile{32, 32}};
constexpr double kBagWarpsPerSm = 45;  // ops/kernels/embedding.hpp
constexpr double kIndexBytes = 8;

/// Networks are of kernels on floating-point numbers.
bool is_floating(DataType type) {
  return type <= DataType::FP8;  // the integers follow
}

/// In 0 to 1: the largest power of two that divides @p size, 32 and more alike.
double alignment(std::int64_t size) {
  return std::min(std::countr_zero(static_cast<std::uint64_t>(size)), 5) / 5.0;
}

double micros(Seconds time) {
  return time / 1_us;
}

/// For @p bytes where all that level 2 holds is there.
Seconds least_to_move(Bytes bytes, const GpuSpec& gpu) {
  return std::max(Bytes{0}, bytes - gpu.l2_size) / gpu.memory_bandwidth;
}

void see_product(const Gemm& gemm, const KernelCall& call, const GpuSpec& gpu, KernelFeatures& seen) {
  const auto batch = static_cast<double>(gemm.batch), m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n), k = static_cast<double>(gemm.k);
  seen.family = gemm.batch > 1 ? LearnedFamily::BatchedGemm : LearnedFamily::Gemm;
  seen.layout = std::string{gemm.transpose_a ? 't' : 'n'} + (gemm.transpose_b ? 't' : 'n');
  const Seconds compute = Flops{2 * batch * m * n * k} / peak_of(gpu, call.type);
  const Bytes moved = size_of(call.type) * (batch * (m * k + k * n + m * n));
  const Seconds memory = moved / gpu.memory_bandwidth;
  seen.bound = gpu.kernel_minimum + std::max(compute, memory);
  seen.least = std::max(compute, least_to_move(moved, gpu));
  seen.call = {std::log(k),       std::log(compute / memory), std::log(micros(seen.bound)),
               alignment(gemm.m), alignment(gemm.n),          alignment(gemm.k)};
  for (const Tile& tile : kTiles) {
    const double tiles = batch * std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
    const double waves = std::ceil(tiles / gpu.sm_count);
    seen.call.push_back(std::log(waves * gpu.sm_count * tile.rows * tile.columns / (batch * m * n)));
  }
}

void see_rows(LearnedFamily family, std::int64_t rows, std::int64_t columns, const KernelCall& call,
              const GpuSpec& gpu, KernelFeatures& seen) {
  seen.family = family;
  const Bytes moved = 2 * size_of(call.type) * (static_cast<double>(rows) * static_cast<double>(columns));
  seen.bound = gpu.kernel_minimum + moved / gpu.memory_bandwidth;
  seen.least = least_to_move(moved, gpu);
  seen.call = {std::log(static_cast<double>(rows)), std::log(static_cast<double>(columns)),
               std::log(micros(seen.bound)), alignment(columns), std::log(moved / gpu.l2_size)};
}

void see_pointwise(const Pointwise& work, const KernelCall& call, const GpuSpec& gpu, KernelFeatures& seen) {
  seen.family = LearnedFamily::Pointwise;
  const auto elements = static_cast<double>(work.elements);
  const Bytes moved = size_of(call.type) * (elements * (work.reads + work.writes));
  const Seconds compute = Flops{elements * work.flops} / gpu.peak.fp32;
  seen.bound = gpu.kernel_minimum + std::max(moved / gpu.memory_bandwidth, compute);
  seen.least = std::max(least_to_move(moved, gpu), compute);
  seen.call = {std::log(micros(seen.bound)), std::log(moved / gpu.l2_size), work.reads, work.writes,
               std::log1p(work.flops)};
}

/// Bytes of a table that cross the memory bus where the cache holds nothing twice.
double table_bytes(const EmbeddingTable& table, const EmbeddingBags& work, double element) {
  const auto bags = static_cast<double>(work.batch);
  const double lookups = bags * table.pooling_factor;
  const double row = row_bytes(table, element);
  const double passes = work.direction == Direction::Forward ? 1 : 2;
  return passes * distinct_rows(table, lookups) * row + bags * row + lookups * kIndexBytes;
}

void see_bags(const EmbeddingBags& work, const KernelCall& call, const GpuSpec& gpu, KernelFeatures& seen) {
  seen.family = work.direction == Direction::Forward ? LearnedFamily::EmbeddingForward
                                                     : LearnedFamily::EmbeddingBackward;
  const double element = size_of(call.type) / 1_B;
  const auto batch = static_cast<double>(work.batch), tables = static_cast<double>(work.tables.size());
  double bytes = 0, distinct_bytes = 0;
  for (const EmbeddingTable& table : work.tables) {
    bytes += table_bytes(table, work, element);
    distinct_bytes += distinct_rows(table, batch * table.pooling_factor) * row_bytes(table, element);
  }
  seen.bound = gpu.kernel_minimum + Bytes{bytes} / gpu.memory_bandwidth;
  seen.least = least_to_move(Bytes{bytes}, gpu);
  seen.call = {std::log(batch), std::log(tables), std::log(micros(seen.bound)),
               std::log(Bytes{distinct_bytes} / gpu.l2_size),
               std::log(batch * tables / (kBagWarpsPerSm * gpu.sm_count))};
  for (const EmbeddingTable& table : work.tables) {
    const double lookups = batch * table.pooling_factor;
    seen.elements.push_back({std::log(static_cast<double>(table.rows)), std::log(row_bytes(table, element)),
                             std::log(table.pooling_factor),
                             std::log(lookups / distinct_rows(table, lookups)),
                             table_bytes(table, work, element) / bytes});
  }
}

/// Fills @p seen. False: no network answers for this work.
struct See {
  const KernelCall& call;
  const GpuSpec& gpu;
  KernelFeatures& seen;

  bool operator()(const Gemm& work) const {
    if (std::min({work.batch, work.m, work.n, work.k}) < 1 || work.concurrent > 1 || work.grouped)
      return false;
    see_product(work, call, gpu, seen);
    return true;
  }
  bool operator()(const Softmax& work) const {
    if (work.direction != Direction::Forward || work.rows < 1 || work.columns < 1) return false;
    if (work.fused.any()) return false;  // Triton's kernel, not the measured one
    if (work.causal || work.row_of_a_warp != kRowOfAWarp) return false;
    see_rows(LearnedFamily::Softmax, work.rows, work.columns, call, gpu, seen);
    return true;
  }
  bool operator()(const LayerNorm& work) const {
    if (work.part != LayerNorm::Part::Forward || work.rows < 1 || work.columns < 1) return false;
    if (work.fused.any()) return false;
    see_rows(LearnedFamily::LayerNorm, work.rows, work.columns, call, gpu, seen);
    return true;
  }
  bool operator()(const Pointwise& work) const {
    if (work.elements < 1 || work.reads + work.writes <= 0 || work.instructions > 0 || work.chain > 0)
      return false;
    see_pointwise(work, call, gpu, seen);
    return true;
  }
  bool operator()(const EmbeddingBags& work) const {
    const bool plain = std::ranges::all_of(work.tables, [](const EmbeddingTable& table) {
      return table.location == TableLocation::Gpu && table.rows > 0 && table.pooling_factor > 0;
    });
    if (!plain || work.tables.empty() || work.batch < 1) return false;
    see_bags(work, call, gpu, seen);
    return true;
  }
  bool operator()(const auto& /*other*/) const { return false; }
};

std::vector<std::string> product_names() {
  std::vector<std::string> names{"log_depth",   "log_balance", "log_bound",
                                 "m_alignment", "n_alignment", "k_alignment"};
  for (const Tile& tile : kTiles) {
    names.push_back(fmt::format("log_idle_{:.0f}x{:.0f}", tile.rows, tile.columns));
  }
  return names;
}

}  // namespace

const std::vector<std::string>& call_feature_names(LearnedFamily family) {
  static const std::vector<std::string> product = product_names();
  static const std::vector<std::string> rows{"log_rows", "log_columns", "log_bound", "column_alignment",
                                             "log_cache"};
  static const std::vector<std::string> pointwise{"log_bound", "log_cache", "reads", "writes", "log_flops"};
  static const std::vector<std::string> embedding{"log_batch", "log_tables", "log_bound", "log_cache",
                                                  "log_waves"};
  switch (family) {
    case LearnedFamily::Gemm:
    case LearnedFamily::BatchedGemm:
      return product;
    case LearnedFamily::Softmax:
    case LearnedFamily::LayerNorm:
      return rows;
    case LearnedFamily::Pointwise:
      return pointwise;
    case LearnedFamily::EmbeddingForward:
    case LearnedFamily::EmbeddingBackward:
      return embedding;
  }
  return product;
}

const std::vector<std::string>& element_feature_names(LearnedFamily family) {
  static const std::vector<std::string> none;
  static const std::vector<std::string> table{"log_rows", "log_row_bytes", "log_pooling", "log_reuse",
                                              "share"};
  const bool is_embedding =
      family == LearnedFamily::EmbeddingForward || family == LearnedFamily::EmbeddingBackward;
  return is_embedding ? table : none;
}

std::optional<KernelFeatures> kernel_features(const KernelCall& call, const GpuSpec& gpu) {
  KernelFeatures seen;
  if (!is_floating(call.type) || !std::visit(See{call, gpu, seen}, call.work)) return std::nullopt;
  seen.type = data_type_name(call.type);
  return seen;
}

}  // namespace lockstep
