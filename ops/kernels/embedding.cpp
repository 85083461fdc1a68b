#include "ops/kernels/embedding.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/embedding_rows.hpp"
#include "ops/kernels/host_traffic.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;      // bytes of a DRAM sector (CUDA C++ Programming Guide)
constexpr double kIndexBytes = 8;   // int64 indices
constexpr double kBagBytes = 96;    // table offset (32) and bag offsets (64), Lin et al.
constexpr double kUsable = 0.9;     // of the level-2 cache, Lin et al.
constexpr double kWarpsPerSm = 45;  // 64 at 71 % occupancy, Lin et al.

double sectors(double bytes) {
  return std::ceil(bytes / kSector) * kSector;
}

/// What all tables of a call move, in bytes, and how long the longest bag makes its warp wait.
struct Load {
  double dram = 0;
  double cache = 0;
  double longest_bag = 0;  // look-ups
};

double misses(double distinct, double lookups, double cached) {
  if (distinct <= cached) return distinct;
  return std::min(lookups, cached + (lookups - cached) * (distinct - cached) / distinct);
}

/// Optimizer state beside each row, bytes.
double state_of(Optimizer optimizer, double row) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return 0;
    case Optimizer::Adagrad:
      return kSector;  // row-wise: one number in a sector of its own
    case Optimizer::AdamW:
      return 2 * row;
  }
  return 0;
}

void add(const EmbeddingTable& table, const EmbeddingBags& work, double element, double cache, Load& load) {
  const double row = row_bytes(table, element);
  const auto bags = static_cast<double>(work.batch);
  const double lookups = bags * table.pooling_factor;
  const BatchRows rows = batch_rows(table, lookups);
  load.longest_bag = std::max(load.longest_bag, table.pooling_factor);
  load.dram += bags * (row + kBagBytes + sectors(kIndexBytes * table.pooling_factor));
  if (work.direction == Direction::Forward) {
    const double missed = misses(rows.gpu_distinct, rows.gpu_lookups, cache / row);
    load.dram += missed * row;
    load.cache += (rows.gpu_lookups - missed) * row;
  } else {
    const double state = state_of(work.optimizer, row);
    load.dram += 2 * rows.gpu_distinct * (row + state) + 2 * rows.host_distinct * state;
    load.cache += lookups * row;
  }
}

}  // namespace

std::string EmbeddingBagsModel::name() const {
  return "embedding bags: level-2 hit rate, roofline";
}

Prediction EmbeddingBagsModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<EmbeddingBags>(call.work);
  const KernelEfficiency& reached = *gpu.efficiency;
  const double warps = kWarpsPerSm * gpu.sm_count;
  const double bags = static_cast<double>(work.batch) * static_cast<double>(work.tables.size());
  const double at_a_time = std::clamp(std::ceil(warps / std::max<double>(1, static_cast<double>(work.batch))),
                                      1.0, std::max<double>(1, static_cast<double>(work.tables.size())));
  Load load;
  bool in_range = fills_requests(work.tables, size_of(call.type) / Bytes{1});
  for (const EmbeddingTable& table : work.tables) {
    add(table, work, size_of(call.type) / Bytes{1}, kUsable * (gpu.l2_size / Bytes{1}) / at_a_time, load);
    in_range = in_range && table.dimension >= 16 && table.dimension <= 512;
  }
  const double fraction =
      work.direction == Direction::Forward ? reached.random_rows : reached.scattered_update;
  const Seconds dram = Bytes{load.dram} / (gpu.memory_bandwidth * (reached.memory * fraction));
  const Seconds cache = Bytes{load.cache} / gpu.l2_bandwidth;
  const Seconds host = time_over_pcie(host_traffic(call), gpu);
  const Seconds latency = reached.row_latency * (load.longest_bag * std::max(1.0, bags / warps));
  return answer(gpu.kernel_minimum + std::max({dram, cache, latency, host}), 0.25,
                provenance_of(gpu, work.direction == Direction::Forward ? "random_rows" : "scattered_update"),
                in_range);
}

}  // namespace lockstep
