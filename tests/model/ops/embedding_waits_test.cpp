/// @file
/// How long bags of different lengths keep a GPU waiting: the formula against a schedule of every bag.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"
#include "ops/kernels/embedding_load.hpp"

namespace lockstep {
namespace {

/// A V100 on which only waits take time, without a cache: 45 warps on each of 80 SMs.
GpuSpec waiting_gpu() {
  auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");
  gpu.memory_bandwidth = BytesPerSecond{1e30};
  gpu.l2_bandwidth = BytesPerSecond{1e30};
  gpu.l2_size = Bytes{0};
  gpu.peak.fp32 = FlopsPerSecond{1e30};  // the clock of the level-1 caches
  return gpu;
}
constexpr std::size_t kWarps = std::size_t{45} * 80;

/// So many rows that no two lookups meet: every one of them waits for DRAM.
EmbeddingTable table(double pooling_factor, std::int64_t dimension = 128) {
  return {.rows = 1'000'000'000'000, .dimension = dimension, .pooling_factor = pooling_factor};
}

/// Row waits of a kernel: its predicted time beyond that of a kernel that looks up nothing.
double row_waits(const EmbeddingBags& bags) {
  const GpuSpec gpu = waiting_gpu();
  const KernelCall call{"lookup", DataType::FP32, bags};
  const bool forward = bags.direction == Direction::Forward;
  const Seconds least = gpu.kernel_minimum + (forward ? gpu.efficiency->first_row : Seconds{0});
  return (model_for(call).predict(call, gpu).duration - least) / gpu.efficiency->row_latency;
}

/// Bags in the order of their tables, each to the group of threads that is free first: its indices, then
/// rows.
double scheduled(const EmbeddingBags& bags, std::size_t groups) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (std::size_t i = 0; i < groups; ++i) {
    free_at.push(0);
  }
  double end = 0;
  for (const EmbeddingTable& of : bags.tables) {
    for (std::int64_t bag = 0; bag < bags.batch; ++bag) {
      const double done = free_at.top() + 1 + of.pooling_factor;
      free_at.pop();
      free_at.push(done);
      end = std::max(end, done);
    }
  }
  return end;
}

/// Graham's bound: no schedule ends before the waits divided among groups or the longest bag, and a list
/// schedule ends at most one bag after the former.
TEST(EmbeddingWaits, AreThoseOfAListSchedule) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Random random{seed, "bags"};
    EmbeddingBags bags{.batch = std::int64_t{128} << (seed % 6), .tables = {}};
    double longest = 0;
    for (std::uint64_t i = 0; i < 2 + seed; ++i) {
      bags.tables.push_back(table(std::floor(1 + 200 * random.uniform(i) * random.uniform(100 + i))));
      longest = std::max(longest, 1 + bags.tables.back().pooling_factor);
    }
    const double formula = row_waits(bags);
    const double schedule = scheduled(bags, kWarps);
    EXPECT_GE(schedule, 0.9999 * formula) << seed;
    EXPECT_LE(schedule, 1.0001 * formula + longest) << seed;
    EXPECT_GE(formula, 0.9999 * longest) << seed;
  }
}

/// 63 tables of bags of 1 and one of bags of 64, 8,192 samples: (127 rows + 64 bags) x 8192 / 3600 waits =
/// 435; a kernel whose bags were all as long as the longest would wait 64 x 65 x 8192 / 3600 = 9466.
TEST(EmbeddingWaits, ALongBagHoldsUpNoOther) {
  EmbeddingBags bags{.batch = 8192, .tables = std::vector<EmbeddingTable>(63, table(1))};
  bags.tables.push_back(table(64));
  EXPECT_NEAR(row_waits(bags), (127 + 64) * 8192 / 3600.0, 0.1);
}

/// Few bags: the longest decides.
TEST(EmbeddingWaits, FewBagsWaitForTheLongest) {
  EXPECT_NEAR(row_waits({.batch = 128, .tables = {table(100), table(2)}}), 1 + 100, 0.01);
}

/// A warp looks up 4 bags of rows of up to 32 columns at a time, 2 up to 64; one wide table takes that from
/// all tables of its kernel.
TEST(EmbeddingWaits, NarrowRowsShareAWarp) {
  const auto waits = [](std::int64_t dimension, std::int64_t other) {
    return row_waits({.batch = 65536, .tables = {table(10, dimension), table(10, other)}});
  };
  EXPECT_NEAR(waits(128, 128) / waits(32, 32), 4, 1e-6);
  EXPECT_NEAR(waits(128, 128) / waits(64, 64), 2, 1e-6);
  EXPECT_NEAR(waits(128, 128) / waits(16, 128), 1, 1e-6);
}

/// 100 rows, 65,536 bags of 50: backward adds up 32,768 gradients of each row, all of which come from DRAM,
/// by a block of 32 warps; 80 SMs have a block each.
TEST(EmbeddingWaits, BackwardDividesPopularRows) {
  const EmbeddingBags many{.batch = 65536,
                           .tables = {{.rows = 100, .dimension = 128, .pooling_factor = 50}},
                           .direction = Direction::Backward};
  EXPECT_NEAR(row_waits(many), (100 * 10 + 65536.0 * 50 / 32) / 80, 0.01);
  EmbeddingBags one = many;
  one.tables.front().rows = 1;  // 4,096 blocks of 1,024 lookups
  one.batch = 4096;
  EXPECT_NEAR(row_waits(one), (10 + 4096.0 * 50 / 32) / 80, 10 + 1024.0 / 32);
}

/// One row, looked up by 8 samples: a chain of ten waits tells a warp what to add up, then come eight
/// gradients, each from DRAM.
TEST(EmbeddingWaits, AnUpdateIsNoShorterThanOneRow) {
  const EmbeddingBags few{.batch = 8,
                          .tables = {{.rows = 1, .dimension = 128, .pooling_factor = 1}},
                          .direction = Direction::Backward};
  EXPECT_NEAR(row_waits(few), 10 + 8, 0.01);
}

/// 51 instructions of a warp for a row of 128 columns; a row of 32 shares them with three others.
TEST(EmbeddingWaits, RowsInTheCachesAreIssued) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/a100_40gb.yaml");
  const auto issue = [&](std::int64_t dimension) {
    const EmbeddingBags bags{.batch = 65536,
                             .tables = {{.rows = 8, .dimension = dimension, .pooling_factor = 100}}};
    return embedding_times(embedding_load(bags, DataType::FP32, gpu), Direction::Forward, gpu).issue;
  };
  // 108 SMs issue 4 instructions of a warp each clock of 1.41 GHz, 0.65 of which come.
  const double expected = 65536.0 * 100 * 51 / (108 * 4 * 1.41e9 * 0.65);
  EXPECT_NEAR(issue(128) / Seconds{expected}, 1, 0.01);
  EXPECT_NEAR(issue(128) / issue(32), 4, 1e-9);
}

}  // namespace
}  // namespace lockstep
