#include "ops/kernels/embedding_load.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/kernels/embedding_rows.hpp"
#include "ops/kernels/index_model.hpp"
#include "ops/kernels/row_cache.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;          // bytes of a DRAM sector (CUDA C++ Programming Guide)
constexpr double kIndexBytes = 8;       // int64 indices
constexpr double kBagBytes = 96;        // backward: table offset (32) and bag offsets (64), Lin et al.
constexpr double kOffsetBytes = 8;      // int64 where a bag's indices begin
constexpr double kUsable = 0.9;         // of the level-2 cache, Lin et al.
constexpr double kUsableNear = 0.7;     // of the level-1 cache: see the header
constexpr double kNearWait = 0.05;      // of row_latency: some 30 cycles of a level-1 hit
constexpr double kNearBytes = 64;       // that an SM's level-1 cache gives in a clock
constexpr double kFlopsOfACore = 2;     // each clock
constexpr double kWarpsPerSm = 45;      // 64 at 71 % occupancy, Lin et al.
constexpr double kCachedWait = 0.22;    // of row_latency: see the header
constexpr double kLongSegment = 32;     // lookups of a row that one warp adds up, FBGEMM
constexpr double kBlockWarps = 32;      // of the block that a row with more has to itself, FBGEMM
constexpr double kBlockSegment = 1024;  // lookups of a row that one block adds up, FBGEMM
constexpr double kBlockLookups = 1024;  // for each of which FBGEMM launches a block: see the header
constexpr double kBlockWaits = 10;      // of a row before its gradients, one after the other: see the header
constexpr double kAddedBytes = 8;       // of a row that an atomic addition takes to level 2 at a time
constexpr double kSliceBytes = 64;      // that a slice of level 2 gives in a clock
constexpr double kBagWaits = 1;         // forward, before its first row: for its indices
constexpr double kRowIssue = 51;  // instructions of a warp for a row of each of its bags: see the header
constexpr double kWarp = 32;      // threads

double sectors(double bytes) {
  return std::ceil(bytes / kSector) * kSector;
}

double misses(double distinct, double lookups, double cached) {
  if (distinct <= cached) return distinct;
  return std::clamp(cached + (lookups - cached) * (distinct - cached) / distinct, distinct, lookups);
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

std::int64_t widest_of(const EmbeddingBags& work) {
  const auto widest = std::ranges::max_element(work.tables, {}, &EmbeddingTable::dimension);
  return widest == work.tables.end() ? 0 : widest->dimension;
}

/// Tables whose bags are looked up at a time.
double tables_at_a_time(const EmbeddingBags& work, const GpuSpec& gpu) {
  const double bags = std::max(1.0, static_cast<double>(work.batch));
  const double tables = std::max(1.0, static_cast<double>(work.tables.size()));
  return std::clamp(bags_at_a_time(widest_of(work), gpu) / bags, 1.0, tables);
}

/// The part of the level-2 cache that a kernel has, bytes.
double level2_of(const GpuSpec& gpu) {
  return kUsable * (gpu.l2_size / Bytes{1}) / gpu.l2_partitions;
}

/// A table's share of the caches, bytes.
struct Caches {
  double level2, level1;
};

/// Shares of a table in a kernel's caches.
Caches caches_of(const EmbeddingBags& work, const GpuSpec& gpu) {
  const double tables = tables_at_a_time(work, gpu);
  return {level2_of(gpu) / tables, kUsableNear * (gpu.l1_size / Bytes{1}) / tables};
}

/// Lookups of a table that DRAM and level 2 answer, those of rows on the GPU.
struct Missed {
  double level2, level1;
};

Missed missed_by(const EmbeddingTable& table, const BatchRows& rows, double row, const Caches& caches,
                 const GpuSpec& gpu) {
  if (table.reuse_factor > 0) {
    return {misses(rows.gpu_distinct, rows.gpu_lookups, caches.level2 / row), rows.gpu_lookups};
  }
  const double lookups = rows.gpu_lookups + rows.host_lookups;
  if (!(lookups > 0)) return {0, 0};
  const IndexModel model = index_model(table);
  const double here = rows.gpu_lookups / lookups;
  const double of_kernel = here * missed_lookups(model, caches.level2 / row, lookups);
  const double of_sms =
      here * gpu.sm_count * missed_lookups(model, caches.level1 / row, lookups / gpu.sm_count);
  return {of_kernel, std::clamp(of_sms, of_kernel, rows.gpu_lookups)};
}

void add_forward(const BatchRows& rows, double row, const Missed& missed, EmbeddingLoad& load) {
  load.dram += missed.level2 * row;
  load.level2 += missed.level1 * row;
  load.level1 += rows.gpu_lookups * row;
  load.rows += rows.gpu_lookups + rows.host_lookups;
  load.waits += missed.level2 + rows.host_lookups + kCachedWait * (missed.level1 - missed.level2) +
                kNearWait * (rows.gpu_lookups - missed.level1);
}

/// Share of the kernel's bytes that the same lookups, which ran just before, left in the level-2 cache.
double left_from_before(const EmbeddingBags& work, double element, double pooled, const GpuSpec& gpu) {
  if (!work.repeated) return 0;
  const auto bags = static_cast<double>(work.batch);
  double bytes = 0;
  for (const EmbeddingTable& table : work.tables) {
    const double lookups = bags * table.pooling_factor;
    bytes += distinct_rows(table, lookups) * row_bytes(table, element) + lookups * kIndexBytes +
             bags * row_bytes(table, pooled);
  }
  return resident_share(Bytes{bytes}, gpu);
}

/// Rows that a batch looks up more often than a warp adds up, and their lookups.
struct LongSegments {
  double rows = 0, lookups = 0;
};

/// Probability that a normal variable is below @p x.
double normal_share(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

/// Long segments of lognormal popularities; how often a row is drawn varies besides (Poisson).
LongSegments long_segments(const EmbeddingTable& table, double lookups, double distinct) {
  if (table.reuse_factor > 0) {
    return table.reuse_factor > kLongSegment ? LongSegments{distinct, lookups} : LongSegments{};
  }
  const IndexModel model = index_model(table);
  if (model.zipf > 0) {
    const auto is_long = [&](double w) { return w * lookups > kLongSegment * model.rows; };
    return {model.rows * mean_over_rows(model, [&](double w) { return is_long(w) ? 1.0 : 0.0; }),
            lookups * mean_over_rows(model, [&](double w) { return is_long(w) ? w : 0.0; })};
  }
  const double skew = model.skew * std::numbers::ln2;
  const double spread = std::sqrt(skew * skew + model.duplication / kLongSegment);
  const double mean = std::log(lookups / model.rows / kLongSegment);
  return {std::min(distinct, model.rows * normal_share((mean - skew * skew / 2) / spread)),
          lookups * normal_share((mean + skew * skew / 2) / spread)};
}

/// Rows that a batch looks up more than @p least times.
double rows_above(const IndexModel& model, double lookups, double least) {
  if (model.zipf > 0) {
    return model.rows *
           mean_over_rows(model, [&](double w) { return w * lookups > least * model.rows ? 1.0 : 0.0; });
  }
  const double skew = model.skew * std::numbers::ln2;
  const double spread = std::sqrt(skew * skew + model.duplication / least);
  return model.rows * normal_share((std::log(lookups / model.rows / least) - skew * skew / 2) / spread);
}

/// The most lookups of one row that a warp adds up: the median of the largest number up to kLongSegment. How
/// many rows have more than a number is Poisson, so that it is the one that ln 2 rows exceed.
double longest_of_a_warp(const EmbeddingTable& table, double lookups, double distinct) {
  double low = std::min(lookups / distinct, kLongSegment), high = std::min(lookups, kLongSegment);
  if (table.reuse_factor > 0 || low >= high) return low;
  const IndexModel model = index_model(table);
  const double beyond = rows_above(model, lookups, kLongSegment);
  constexpr int kSteps = 12;  // to a hundredth of a lookup
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (low + high) / 2;
    (rows_above(model, lookups, middle) - beyond > std::numbers::ln2 ? low : high) = middle;
  }
  return low;
}

/// Blocks that update rows with many lookups, of which an SM has one at a time.
double blocks_at_a_time(const EmbeddingLoad& load, const GpuSpec& gpu) {
  return std::clamp(std::ceil(load.lookups / kBlockLookups), 1.0, static_cast<double>(gpu.sm_count));
}

/// A table's update by the gradients of its pooled rows.
struct Update {
  double bags;
  double row, state, pooled;  ///< bytes: of a row, its optimizer state, a pooled row
  double of_a_bag;            ///< bytes that tell its lookups
  double cached;              ///< bytes of the level-2 cache
};

void add_backward(const EmbeddingTable& table, const BatchRows& rows, const Update& update,
                  EmbeddingLoad& load) {
  const double lookups = rows.gpu_lookups + rows.host_lookups;
  const double distinct = rows.gpu_distinct + rows.host_distinct;
  if (!(distinct > 0)) {
    return;
  }
  const double moved = rows.gpu_distinct * (update.row + update.state) + rows.host_distinct * update.state;
  const double draws = lookups / table.index_duplication;
  const double once = std::min(update.bags, draws);
  const double missed =
      missed_pooled_rows({.bags = update.bags,
                          .draws = draws,
                          .places = update.cached / update.pooled,
                          .others = (moved + update.bags * update.of_a_bag) / update.pooled});
  load.dram += 2 * moved + once * update.pooled;
  load.gathered += (missed - once) * update.pooled;
  load.level2 += lookups * update.pooled;
  const double wait = kCachedWait + (1 - kCachedWait) * missed / lookups;  // for a lookup's gradient
  const LongSegments segments = long_segments(table, lookups, distinct);
  load.lookups += lookups;
  load.waits += distinct - segments.rows + wait * (lookups - segments.lookups);
  load.longest_wait =
      std::max(load.longest_wait, std::clamp(distinct - segments.rows, 0.0, 1.0) *
                                      (kBlockWaits + wait * longest_of_a_warp(table, lookups, distinct)));
  if (segments.rows > 0) {
    load.block_waits += kBlockWaits * segments.rows + wait * segments.lookups / kBlockWarps;
    const double longest = std::min(segments.lookups / segments.rows, kBlockSegment);
    load.longest_block = std::min(1.0, segments.rows) * (kBlockWaits + wait * longest / kBlockWarps);
  }
}

/// Every lookup on its own: the level-2 cache adds two numbers of a row in the clock that would give 64
/// bytes.
void add_atomic(const BatchRows& rows, double row, const Missed& missed, EmbeddingLoad& load) {
  load.dram += 2 * missed.level2 * row;
  load.level2 += rows.gpu_lookups * row / kAddedBytes * kSliceBytes;
  load.waits += missed.level2 + kCachedWait * (rows.gpu_lookups - missed.level2);
}

/// Values that hold for all tables of a kernel.
struct Kernel {
  double element, pooled;  ///< bytes
  Caches caches;           ///< of a table
  double cold;             ///< share of the level-2 cache's misses that the lookups before left
};

EmbeddingLoad load_of(const EmbeddingTable& table, const EmbeddingBags& work, const Kernel& kernel,
                      const GpuSpec& gpu) {
  EmbeddingLoad load;
  const auto bags = static_cast<double>(work.batch);
  const double row = row_bytes(table, kernel.element);
  const BatchRows rows = batch_rows(table, bags * table.pooling_factor);
  const double pooled = row_bytes(table, kernel.pooled);
  if (work.direction == Direction::Backward && !work.atomic) {
    const double of_a_bag = kBagBytes + sectors(kIndexBytes * table.pooling_factor);
    load.dram = bags * of_a_bag;
    add_backward(table, rows,
                 {.bags = bags,
                  .row = row,
                  .state = state_of(work.optimizer, row),
                  .pooled = pooled,
                  .of_a_bag = of_a_bag,
                  .cached = level2_of(gpu)},
                 load);
    return load;
  }
  load.dram = bags * (pooled + kOffsetBytes + kIndexBytes * table.pooling_factor);
  Missed missed = missed_by(table, rows, row, kernel.caches, gpu);
  if (work.direction == Direction::Backward) {
    add_atomic(rows, row, missed, load);
    return load;
  }
  missed.level2 *= kernel.cold;
  add_forward(rows, row, missed, load);
  load.waits += kBagWaits * bags;
  load.longest_wait = load.waits / std::max(1.0, bags);
  return load;
}

void add(const EmbeddingLoad& of_table, EmbeddingLoad& load) {
  load.dram += of_table.dram;
  load.gathered += of_table.gathered;
  load.level2 += of_table.level2;
  load.level1 += of_table.level1;
  load.rows += of_table.rows;
  load.waits += of_table.waits;
  load.block_waits += of_table.block_waits;
  load.lookups += of_table.lookups;
  load.longest_wait = std::max(load.longest_wait, of_table.longest_wait);
  load.longest_block = std::max(load.longest_block, of_table.longest_block);
}

}  // namespace

EmbeddingLoad embedding_load(const EmbeddingBags& work, DataType type, const GpuSpec& gpu) {
  const double element = size_of(type) / Bytes{1};
  const double pooled = size_of(work.pooled.value_or(type)) / Bytes{1};
  const Kernel kernel{.element = element,
                      .pooled = pooled,
                      .caches = caches_of(work, gpu),
                      .cold = 1 - left_from_before(work, element, pooled, gpu)};
  EmbeddingLoad load, of_table;
  const EmbeddingTable* before = nullptr;
  for (const EmbeddingTable& table : work.tables) {
    if (before == nullptr || table != *before) of_table = load_of(table, work, kernel, gpu);
    before = &table;
    add(of_table, load);
  }
  load.widest = widest_of(work);
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
  const BytesPerSecond streaming = reached.memory * gpu.memory_bandwidth;
  return {.dram = Bytes{load.dram} / (fraction * streaming) +
                  Bytes{load.gathered} / (reached.random_rows * streaming),
          .level2 = Bytes{load.level2} / (gpu.l2_bandwidth * (forward ? reached.cached_rows : 1)),
          .level1 = Flops{load.level1 / kNearBytes * (kFlopsOfACore * gpu.cores_per_sm)} / gpu.peak.fp32,
          .issue = time_to_issue(
              load.rows * kRowIssue * kWarp * warps_of(gpu) / bags_at_a_time(load.widest, gpu), gpu),
          .waits = load.waits / bags_at_a_time(load.widest, gpu) * reached.row_latency,
          .block_waits = std::max(load.block_waits / blocks_at_a_time(load, gpu), load.longest_block) *
                         reached.row_latency,
          .longest_wait = load.longest_wait * reached.row_latency};
}

Seconds look_up_time(std::initializer_list<Seconds> limits) {
  double sum = 0;
  for (const Seconds limit : limits) {
    const double square = (limit / Seconds{1}) * (limit / Seconds{1});
    sum += square * square;
  }
  return Seconds{std::sqrt(std::sqrt(sum))};
}

}  // namespace lockstep
