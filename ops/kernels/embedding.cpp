#include "ops/kernels/embedding.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;        // bytes of a DRAM sector (CUDA C++ Programming Guide, 5.3.2)
constexpr double kIndexBytes = 8;     // int64 indices
constexpr double kBagBytes = 96;      // table offset (32) and bag offsets (64) per bag, Lin et al. sec. IV
constexpr double kUsableCache = 0.9;  // Lin et al., hit-rate model

double sectors(double bytes) {
  return std::ceil(bytes / kSector) * kSector;
}

struct TableTraffic {
  double dram = 0;
  double cache = 0;
};

/// Distinct rows among @p lookups of a table.
double distinct_rows(const EmbeddingTable& table, double lookups) {
  if (table.reuse_factor > 0) return lookups / std::max(1.0, table.reuse_factor);
  const auto rows = static_cast<double>(table.rows);
  return rows * -std::expm1(lookups * std::log1p(-1 / rows));
}

double misses(double distinct, double lookups, double cached_rows) {
  if (distinct <= cached_rows) return distinct;
  return cached_rows + (lookups - cached_rows) * (distinct - cached_rows) / distinct;
}

/// Optimizer state read and written per row beside the row itself, bytes.
double state_bytes(Optimizer optimizer, double row) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return 0;
    case Optimizer::Adagrad:
      return kSector;  // row-wise: one number a row
    case Optimizer::AdamW:
      return 2 * row;
  }
  return 0;
}

TableTraffic traffic_of(const EmbeddingTable& table, const EmbeddingBags& work, double element,
                        double cache_bytes) {
  const double row = sectors(static_cast<double>(table.dimension) * element);
  const auto bags = static_cast<double>(work.batch);
  const double lookups = bags * table.pooling_factor;
  if (lookups <= 0) return {.dram = bags * row, .cache = 0};
  const double distinct = distinct_rows(table, lookups);
  const double per_bag = kBagBytes + sectors(kIndexBytes * table.pooling_factor);
  if (work.direction == Direction::Forward) {
    const double missed = misses(distinct, lookups, std::min(distinct, cache_bytes / row));
    return {.dram = bags * (per_bag + row) + missed * row, .cache = (lookups - missed) * row};
  }
  const double updated = distinct * 2 * (row + state_bytes(work.optimizer, row));
  return {.dram = bags * (per_bag + row) + updated, .cache = lookups * row};
}

}  // namespace

std::string EmbeddingBagsModel::name() const {
  return "embedding bags: level-2 hit rate, roofline";
}

Prediction EmbeddingBagsModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<EmbeddingBags>(call.work);
  const double element = size_of(call.type) / Bytes{1};
  const double tables = std::max<double>(1, static_cast<double>(work.tables.size()));
  const double cache_bytes = kUsableCache * (gpu.l2_size / Bytes{1}) / tables;
  TableTraffic sum;
  bool in_range = true;
  for (const EmbeddingTable& table : work.tables) {
    const TableTraffic traffic = traffic_of(table, work, element, cache_bytes);
    sum.dram += traffic.dram;
    sum.cache += traffic.cache;
    in_range = in_range && table.dimension >= 16 && table.dimension <= 512;
  }
  const bool forward = work.direction == Direction::Forward;
  const double fraction = forward ? gpu.efficiency.random_rows : gpu.efficiency.scattered_update;
  const Seconds dram = Bytes{sum.dram} / (gpu.memory_bandwidth * (gpu.efficiency.memory * fraction));
  const Seconds cache = Bytes{sum.cache} / gpu.l2_bandwidth;
  return answer(gpu.kernel_minimum + std::max(dram, cache), 0.25, gpu, in_range);
}

}  // namespace lockstep
