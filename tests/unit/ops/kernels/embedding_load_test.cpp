/// @file
/// The work that embedding lookups give a GPU, and the times of those measured on an H100 and an H200.

#include "ops/kernels/embedding_load.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

GpuSpec gpu_named(const std::string& name) {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
}

EmbeddingBags eight(EmbeddingTable table, std::int64_t batch = 2048) {
  return {.batch = batch, .tables = std::vector<EmbeddingTable>(8, table)};
}

EmbeddingTable table(std::int64_t rows, double pooling, double zipf, std::int64_t dimension = 128) {
  return {.rows = rows, .dimension = dimension, .pooling_factor = pooling, .zipf = zipf};
}

double microseconds(const EmbeddingBags& bags, const std::string& gpu) {
  const KernelCall call{"lookup", DataType::FP32, bags};
  return model_for(call).predict(call, gpu_named(gpu)).duration / Seconds{1e-6};
}

struct Measured {
  const char* gpu;
  std::int64_t rows;
  double pooling, zipf;
  std::int64_t dimension, batch;
  double us;
};

// calibration/measurements/*/embedding.csv less the 1.4 us of two events, one or two of each limit: bytes,
// level 2, level 1, rows one after the other, the first row.
TEST(EmbeddingLookUps, TakeWhatWasMeasured) {
  for (const Measured& m : {Measured{"h100_80gb", 1'000'000, 100, 0, 128, 2048, 293.96},
                            {"h200_141gb", 1'000'000, 32, 0.8, 128, 2048, 56.15},
                            {"h100_80gb", 10'000, 100, 0, 128, 2048, 114.90},
                            {"h100_80gb", 1000, 100, 1.2, 128, 2048, 52.86},
                            {"h200_141gb", 1000, 100, 1.2, 128, 2048, 53.06},
                            {"h100_80gb", 1'000'000, 32, 0.8, 32, 256, 17.86},
                            {"h100_80gb", 1'000'000, 1, 0.8, 32, 256, 4.17},
                            {"h200_141gb", 1'000'000, 1, 0.8, 128, 256, 4.42}}) {
    const double predicted =
        microseconds(eight(table(m.rows, m.pooling, m.zipf, m.dimension), m.batch), m.gpu);
    EXPECT_NEAR(predicted / m.us, 1, 0.15)
        << m.gpu << ", " << m.rows << " rows: " << predicted << " for " << m.us;
  }
}

// 0.7 of 128 KiB are 179 of 1,000 rows of 512 bytes, all alike: but for the first few of an SM's 256,000
// lookups 17.9 in 100 hit.
TEST(EmbeddingLookUps, HitTheSmsOwnCache) {
  const GpuSpec v100 = gpu_named("v100_32gb");
  const EmbeddingLoad load =
      embedding_load({.batch = 204'800, .tables = {table(1000, 100, 0)}}, DataType::FP32, v100);
  const double lookups = 20'480'000;
  EXPECT_NEAR(load.level2 / 512 / lookups, 1 - 0.179, 0.005);
  EXPECT_EQ(load.level1, lookups * 512);
}

// Each of two parts of the level-2 cache holds what its SMs read, so that a row is in both: as if it were one
// cache of half the size.
TEST(EmbeddingLookUps, FindRowsOnceInEachPartOfTheLevel2Cache) {
  GpuSpec gpu = gpu_named("h100_80gb");
  const EmbeddingBags bags{.batch = 32'768, .tables = {table(200'000, 100, 0)}};
  const auto rows_from_dram = [&] {
    return (embedding_load(bags, DataType::FP32, gpu).dram - 32'768 * (512 + 8 + 800)) / 512;
  };
  const double in_parts = rows_from_dram();
  gpu.l2_size = 0.5 * gpu.l2_size;
  gpu.l2_partitions = 1;
  EXPECT_NEAR(rows_from_dram(), in_parts, 1);
  gpu.l2_size = 8 * gpu.l2_size;
  EXPECT_NEAR(rows_from_dram(), 200'000, 1);
}

// Bags of four tables at a time share the caches where 5,940 warps look up 1,485 samples.
TEST(EmbeddingLookUps, OfTablesAtATimeShareTheCaches) {
  const GpuSpec gpu = gpu_named("h100_80gb");
  const auto missed_of_a_table = [&](std::size_t tables) {
    const EmbeddingBags bags{.batch = 1485, .tables = std::vector(tables, table(100'000, 200, 0))};
    return embedding_load(bags, DataType::FP32, gpu).dram / static_cast<double>(tables);
  };
  EXPECT_GT(missed_of_a_table(4), 1.2 * missed_of_a_table(1));
  EXPECT_NEAR(missed_of_a_table(8), missed_of_a_table(4), 1);
}

// 32 columns of 1,000 rows in 32 tables are 4 MB: in V100's 6 MiB from the time before. 512 columns are not.
TEST(EmbeddingLookUps, ThatAreRepeatedFindWhatTheCacheHolds) {
  const GpuSpec v100 = gpu_named("v100_32gb");
  const auto waits = [&](std::int64_t columns, bool repeated) {
    EmbeddingBags bags{.batch = 128, .tables = std::vector(32, table(1000, 8, 0, columns))};
    bags.repeated = repeated;
    return embedding_load(bags, DataType::FP32, v100).waits;
  };
  EXPECT_LT(waits(32, true), 0.7 * waits(32, false));
  EXPECT_EQ(waits(512, true), waits(512, false));
}

// embedding_kernel_samples_v100.csv: 2,097,152 rows of 512 bytes take 1.162 GB from DRAM and 1.132 to it, and
// 134 million level-2 writes: 64 bytes for 8.
TEST(EmbeddingUpdates, ByAtomicAdditionsMoveEachLookUp) {
  EmbeddingBags bags{.batch = 4096,
                     .tables = std::vector(32, table(500'000, 16, 0)),
                     .direction = Direction::Backward,
                     .optimizer = Optimizer::Sgd,
                     .atomic = true};
  const EmbeddingLoad load = embedding_load(bags, DataType::FP32, gpu_named("v100_16gb"));
  EXPECT_NEAR(load.dram / (1.162e9 + 1.132e9), 1, 0.05);
  EXPECT_NEAR(load.level2 / 64 / 134.2e6, 1, 0.01);
  bags.atomic = false;  // sorted: each different row once
  EXPECT_LT(embedding_load(bags, DataType::FP32, gpu_named("v100_16gb")).dram, load.dram);
}

/// The fused update of tables of a million rows.
EmbeddingLoad update(std::int64_t batch, std::size_t tables, const GpuSpec& gpu, DataType pooled) {
  return embedding_load({.batch = batch,
                         .tables = std::vector(tables, table(1'000'000, 20, 0)),
                         .direction = Direction::Backward,
                         .pooled = pooled},
                        DataType::FP32, gpu);
}

// 65,536 gradients of 512 bytes are 33.6 MB, of which half of 0.9 x 40 MiB hold 18.9: what is read again
// comes from DRAM, row by row, and is waited for. 8,192 of them stay, but for what passes with the rows.
TEST(EmbeddingUpdates, ReadGradientsAgainThatTheLevel2CacheDoesNotHold) {
  const GpuSpec a100 = gpu_named("a100_80gb");
  const double again = 65'536 * 19;
  const EmbeddingLoad large = update(65'536, 1, a100, DataType::FP32);
  EXPECT_GT(large.gathered / 512, (1 - 18.9 / 33.6) * again);
  EXPECT_LT(large.gathered / 512, again);
  EXPECT_LT(update(2048, 1, a100, DataType::FP32).gathered / 512, 0.01 * 2048 * 19);
  GpuSpec holds_all = a100;
  holds_all.l2_size = 100 * holds_all.l2_size;
  const EmbeddingLoad held = update(65'536, 1, holds_all, DataType::FP32);
  EXPECT_EQ(held.gathered, 0);
  EXPECT_EQ(held.dram, large.dram);
  // All lookups are of rows with few: 0.22 of a wait each, 1 where DRAM has to be asked.
  EXPECT_NEAR(large.waits - held.waits, 0.78 * large.gathered / 512, 0.01 * large.waits);
}

// Tables come one after the other: each has the cache.
TEST(EmbeddingUpdates, HaveTheLevel2CacheTableByTable) {
  const GpuSpec a100 = gpu_named("a100_80gb");
  EXPECT_NEAR(update(65'536, 8, a100, DataType::FP32).gathered,
              8 * update(65'536, 1, a100, DataType::FP32).gathered, 1);
}

TEST(EmbeddingUpdates, ReadGradientsOfTheirOwnType) {
  const GpuSpec a100 = gpu_named("a100_80gb");
  const EmbeddingLoad wide = update(65'536, 1, a100, DataType::FP32);
  const EmbeddingLoad narrow = update(65'536, 1, a100, DataType::FP16);
  EXPECT_EQ(narrow.level2, wide.level2 / 2);
  EXPECT_LT(narrow.gathered, 0.5 * wide.gathered);
  EXPECT_EQ(wide.dram - narrow.dram, 65'536 * 256);
}

// 512 lookups of 64 rows are 8 of each, all alike: of 64 Poisson numbers the largest is 15 in the median.
// Skewed rows have up to the 32 that a warp adds up.
TEST(EmbeddingUpdates, LastAsLongAsTheRowThatIsLookedUpMost) {
  const GpuSpec v100 = gpu_named("v100_32gb");
  const auto longest = [&](std::int64_t rows, double pooling, double skew) {
    EmbeddingTable one = table(rows, pooling, 0, 16);
    one.index_skew = skew;
    const EmbeddingBags bags{.batch = 8, .tables = {one}, .direction = Direction::Backward};
    return (embedding_load(bags, DataType::FP32, v100).longest_wait - 10);
  };
  EXPECT_NEAR(longest(64, 64, 0) / 0.22, 15, 1.5);
  EXPECT_NEAR(longest(1000, 1000, 2.4) / 0.22, 32, 1);
  EXPECT_NEAR(longest(1'000'000, 1, 0), 1, 0.01);  // its gradient comes from DRAM
}

TEST(EmbeddingLookUps, HideWaitsBehindBytesButForWhereBothAreAlike) {
  const auto time = [](double waits, double bytes) {
    return look_up_time({Seconds{waits}, Seconds{bytes}}) / Seconds{1};
  };
  EXPECT_DOUBLE_EQ(time(3, 0), 3);
  EXPECT_DOUBLE_EQ(time(0, 5), 5);
  EXPECT_NEAR(time(1, 1), 1.189, 0.001);
  EXPECT_NEAR(time(1, 10), 10, 0.01);
}

}  // namespace
}  // namespace lockstep
