#include "ops/kernels/embedding_load.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/kernels/embedding_rows.hpp"
#include "ops/kernels/index_model.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;        // bytes of a DRAM sector (CUDA C++ Programming Guide)
constexpr double kIndexBytes = 8;     // int64 indices
constexpr double kBagBytes = 96;      // table offset (32) and bag offsets (64), Lin et al.
constexpr double kUsable = 0.9;       // of the level-2 cache, Lin et al.
constexpr double kUsableNear = 0.7;   // of the level-1 cache: see the header
constexpr double kNearWait = 0.05;    // of row_latency: some 30 cycles of a level-1 hit
constexpr double kNearBytes = 64;     // that an SM's level-1 cache gives in a clock
constexpr double kReadsAlone = 1.4;   // times the level-2 bandwidth of element-wise kernels, which write, too
constexpr double kFlopsOfACore = 2;   // each clock
constexpr double kWarpsPerSm = 45;    // 64 at 71 % occupancy, Lin et al.
constexpr double kCachedWait = 0.22;  // of row_latency: see the header
constexpr double kLongSegment = 32;   // look-ups of a row that one warp adds up, FBGEMM
constexpr double kBlockWarps = 32;    // of the block that a row with more has to itself, FBGEMM
constexpr double kBlockSegment = 1024;  // look-ups of a row that one block adds up, FBGEMM
constexpr double kBlockWaits = 10;      // such a row's, one after the other: see the header

double sectors(double bytes) {
  return std::ceil(bytes / kSector) * kSector;
}

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
      return row;
    case Optimizer::RowWiseAdagrad:
      return kSector;  // one number in a sector of its own
    case Optimizer::AdamW:
    case Optimizer::AdamWHf:
    case Optimizer::Lamb:
    case Optimizer::BertAdam:
      return 2 * row;
  }
  return 0;
}

double warps_of(const GpuSpec& gpu) {
  return kWarpsPerSm * gpu.sm_count;
}

/// Tables whose bags are looked up at a time.
double tables_at_a_time(const EmbeddingBags& work, const GpuSpec& gpu) {
  const double bags = std::max(1.0, static_cast<double>(work.batch));
  const double tables = std::max(1.0, static_cast<double>(work.tables.size()));
  return std::clamp(std::ceil(warps_of(gpu) / bags), 1.0, tables);
}

/// What a table has of the caches, bytes.
struct Caches {
  double level2, level1;
};

/// Share of a table's look-ups that its SM's level-1 cache answers.
double popular(const EmbeddingTable& table, double lookups, double row, const Caches& caches, double sms) {
  const double of_sm = lookups / sms;
  if (!(of_sm > 0)) return 0;
  const double again = 1 - distinct_rows(table, of_sm) / of_sm;
  return std::clamp(std::min(popular_share(table, caches.level1 / row), again), 0.0, 1.0);
}

void add_forward(const BatchRows& rows, double row, const Caches& caches, double popular,
                 EmbeddingLoad& load) {
  const double missed = misses(rows.gpu_distinct, rows.gpu_lookups, caches.level2 / row);
  const double from_level2 = std::max(0.0, rows.gpu_lookups * (1 - popular) - missed);
  const double from_level1 = std::max(0.0, rows.gpu_lookups - missed - from_level2);
  load.dram += missed * row;
  load.level2 += from_level2 * row;
  load.level1 += rows.gpu_lookups * row;
  load.waits += missed + rows.host_lookups + kCachedWait * from_level2 + kNearWait * from_level1;
}

/// Rows that a batch looks up more often than a warp adds up, and their look-ups.
struct LongSegments {
  double rows = 0, lookups = 0;
};

/// Of a normal variable: below @p x.
double normal_share(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

/// Of lognormal popularities; how often a row is drawn varies besides (Poisson).
LongSegments long_segments(const EmbeddingTable& table, double lookups, double distinct) {
  if (table.reuse_factor > 0) {
    return table.reuse_factor > kLongSegment ? LongSegments{distinct, lookups} : LongSegments{};
  }
  const IndexModel model = index_model(table);
  const double skew = model.skew * std::numbers::ln2;
  const double spread = std::sqrt(skew * skew + model.duplication / kLongSegment);
  const double mean = std::log(lookups / model.rows / kLongSegment);
  return {std::min(distinct, model.rows * normal_share((mean - skew * skew / 2) / spread)),
          lookups * normal_share((mean + skew * skew / 2) / spread)};
}

void add_backward(const EmbeddingTable& table, const BatchRows& rows, double row, Optimizer optimizer,
                  EmbeddingLoad& load) {
  const double lookups = rows.gpu_lookups + rows.host_lookups;
  const double distinct = rows.gpu_distinct + rows.host_distinct;
  if (!(distinct > 0)) {
    return;
  }
  const double state = state_of(optimizer, row);
  load.dram += 2 * rows.gpu_distinct * (row + state) + 2 * rows.host_distinct * state;
  load.level2 += lookups * row;
  const LongSegments segments = long_segments(table, lookups, distinct);
  load.waits += distinct - segments.rows + kCachedWait * (lookups - segments.lookups);
  load.longest_wait =
      std::max(load.longest_wait, 1 + kCachedWait * std::min(lookups / distinct, kLongSegment));
  if (segments.rows > 0) {
    load.block_waits += kBlockWaits * segments.rows + kCachedWait * segments.lookups / kBlockWarps;
    const double longest = std::min(segments.lookups / segments.rows, kBlockSegment);
    load.longest_wait = std::max(load.longest_wait, std::min(1.0, segments.rows) *
                                                        (kBlockWaits + kCachedWait * longest / kBlockWarps));
  }
}

}  // namespace

EmbeddingLoad embedding_load(const EmbeddingBags& work, DataType type, const GpuSpec& gpu) {
  const double element = size_of(type) / Bytes{1};
  const double tables = tables_at_a_time(work, gpu);
  const Caches caches{kUsable * (gpu.l2_size / Bytes{1}) / tables,
                      kUsableNear * (gpu.l1_size / Bytes{1}) / tables};
  const auto bags = static_cast<double>(work.batch);
  EmbeddingLoad load;
  for (const EmbeddingTable& table : work.tables) {
    const double row = row_bytes(table, element);
    const BatchRows rows = batch_rows(table, bags * table.pooling_factor);
    const double pooled = row_bytes(table, size_of(work.pooled.value_or(type)) / Bytes{1});
    load.dram += bags * (pooled + kBagBytes + sectors(kIndexBytes * table.pooling_factor));
    load.widest = std::max(load.widest, table.dimension);
    if (work.direction == Direction::Backward) {
      add_backward(table, rows, row, work.optimizer, load);
      continue;
    }
    const double waited = load.waits;
    const double near = popular(table, rows.gpu_lookups, row, caches, gpu.sm_count);
    add_forward(rows, row, caches, near, load);
    load.longest_wait = std::max(load.longest_wait, (load.waits - waited) / std::max(1.0, bags));
  }
  return load;
}

double bags_at_a_time(std::int64_t widest, const GpuSpec& gpu) {
  const double of_a_warp = widest <= 32 ? 4 : (widest <= 64 ? 2 : 1);
  return of_a_warp * warps_of(gpu);
}

EmbeddingTimes embedding_times(const EmbeddingLoad& load, Direction direction, const GpuSpec& gpu) {
  const KernelEfficiency& reached = *gpu.efficiency;
  const bool forward = direction == Direction::Forward;
  const double fraction = forward ? reached.random_rows : reached.scattered_update;
  return {.dram = Bytes{load.dram} / (gpu.memory_bandwidth * (reached.memory * fraction)),
          .level2 = Bytes{load.level2} / (gpu.l2_bandwidth * (forward ? kReadsAlone : 1)),
          .level1 = Flops{load.level1 / kNearBytes * (kFlopsOfACore * gpu.cores_per_sm)} / gpu.peak.fp32,
          .waits = load.waits / bags_at_a_time(load.widest, gpu) * reached.row_latency,
          .block_waits = load.block_waits / gpu.sm_count * reached.row_latency,
          .longest_wait = load.longest_wait * reached.row_latency};
}

}  // namespace lockstep
