// Softmax of rows that have a block to themselves: what it waits for, and which reads come from a cache.

#include "ops/kernels/normalisation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/yaml_reader.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

constexpr std::int64_t kRows = 32000;  // on 80 SMs with 4 blocks each: 100 at a time one after the other

/// 80 SMs without caches, whose memory takes no time.
GpuSpec plain_gpu() {
  auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");
  gpu.memory_bandwidth = gpu.l2_bandwidth = BytesPerSecond{1e30};
  gpu.l1_size = gpu.l2_size = Bytes{0};
  gpu.kernel_minimum = Seconds{0};
  gpu.efficiency.value.memory = gpu.efficiency.value.softmax = gpu.efficiency.value.writes = 1;
  gpu.efficiency.value.layer_norm = gpu.efficiency.value.block_softmax = 1;
  return gpu;
}

double us(const KernelWork& work, const GpuSpec& gpu, DataType type = DataType::FP32) {
  return NormalisationModel{}.predict({"kernel", type, work}, gpu).duration / 1_us;
}

/// Time that @p waiting and @p moving, in us, take together.
double together(double waiting, double moving) {
  return std::pow(std::pow(waiting, 1.4) + std::pow(moving, 1.4), 1 / 1.4);
}

// Two sums of 0.61 us, backward one. A block of 256 threads has 2,048 of 16 bits in vectors: 8 on an SM, half
// as many one after the other.
TEST(Softmax, waits_for_the_sums_of_its_blocks) {
  const GpuSpec gpu = plain_gpu();
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), 100 * 2 * 0.61, 1e-6);
  EXPECT_NEAR(us(Softmax{kRows, 4096, Direction::Backward}, gpu), 100 * 0.61, 1e-6);
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu, DataType::FP16), 50 * 2 * 0.61, 1e-6);
  EXPECT_NEAR(us(Softmax{1, 4096}, gpu), 2 * 0.61, 1e-6);  // one block alone waits as long
}

// The level-1 cache holds the rows: each of the two passes that read them again waits 0.46 us in an
// iteration. 4,096 floats are two vectors for each of 512 threads; of 2,560 there is one, and 512 floats one
// a thread. Of 2,561 one row in four begins at a vector: one vector and two for 513 floats; the others have
// an iteration to the next vector, one vector, and one for the 2 to 4 floats behind.
TEST(Softmax, waits_in_each_iteration_over_a_row_that_it_reads_again) {
  GpuSpec gpu = plain_gpu();
  gpu.l1_size = Bytes{1e9};
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), 100 * 2 * (0.61 + 2 * 0.46), 1e-6);
  EXPECT_NEAR(us(Softmax{kRows, 2560}, gpu), 100 * 2 * (0.61 + 2 * 0.46), 1e-6);
  EXPECT_NEAR(us(Softmax{kRows, 2561}, gpu), 100 * 2 * (0.61 + 3 * 0.46), 1e-6);
  EXPECT_NEAR(us(Softmax{kRows, 4096, Direction::Backward}, gpu), 100 * (0.61 + 2 * 0.46), 1e-6);
}

// At 1000 GB/s a matrix of 32,000 x 16 KiB takes 524.288 us: once read and once written, and twice more where
// no cache holds it.
TEST(Softmax, of_long_rows_reads_them_three_times) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), together(122, 4 * 524.288), 1e-6);
  EXPECT_NEAR(us(Softmax{kRows, 4096, Direction::Backward}, gpu), together(61, 4 * 524.288), 1e-6);
}

// Between two reads of the same bytes each of 4 blocks touches 4/3 rows of 16 KiB: half of 170.7 KiB. Four
// iterations again: 306 us with the sums.
TEST(Softmax, reads_again_from_the_level_1_cache) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.l1_size = Bytes{512.0 / 3 * 1024};
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), together(306, 2 * 524.288), 1e-6);
  gpu.l1_size = Bytes{256.0 / 3 * 1024};  // all of it: every second read is missing
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), together(214, 3 * 524.288), 1e-6);
}

// 320 blocks touch 4/3 rows of 16 KiB: half of 13.33 MiB. In two parts a row has 1.5 copies: three quarters
// of it are touched, and every fourth read is missing. A vector for each of 163,840 threads takes 0.524288
// us; 100 blocks one after the other wait 1.42 times as long in each of four iterations: 297.8 us. A single
// block has the level-2 cache to itself, which answers no sooner than level 1: 1.84 us beside 1.22 for sums.
TEST(Softmax, reads_again_from_the_level_2_cache_and_waits_for_it) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.l2_bandwidth = BytesPerSecond{5e12};
  gpu.l2_size = Bytes{2 * 320 * 4.0 / 3 * 16384};
  const double matrix = 524.288, waiting = 100 * 4 * 1.42 * 0.524288;
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), together(122 + waiting, 2 * matrix), 1e-6);
  EXPECT_NEAR(us(Softmax{1, 4096}, gpu), 1.22 + 4 * 0.46, 0.01);
  gpu.l2_partitions = 2;
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), together(122 + 0.75 * waiting, 2.5 * matrix), 1e-6);
}

// A warp holds a row of 4,096 that says so: once read and once written, backward two read and one written.
TEST(Softmax, of_a_warp_reads_its_row_once) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.peak.fp32 = FlopsPerSecond{1e30};
  const auto softmax = [](Direction direction) {
    return Softmax{.rows = kRows, .columns = 4096, .direction = direction, .row_of_a_warp = 4096};
  };
  EXPECT_NEAR(us(softmax(Direction::Forward), gpu), 2 * 524.288, 1e-6);
  EXPECT_NEAR(us(softmax(Direction::Backward), gpu), 3 * 524.288, 1e-6);
}

// Row i of n reads i elements with a causal mask, (n + 1) / 2 on the mean, and all are written. That is
// 2,048.5 of 4,096 forward, twice as many backward.
TEST(Softmax, with_a_causal_mask_reads_half_and_writes_all) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.peak.fp32 = FlopsPerSecond{1e30};
  const auto softmax = [](Direction direction) {
    return Softmax{
        .rows = kRows, .columns = 4096, .direction = direction, .row_of_a_warp = 4096, .causal = true};
  };
  const double read = 524.288 * 2048.5 / 4096;
  EXPECT_NEAR(us(softmax(Direction::Forward), gpu), read + 524.288, 1e-6);
  EXPECT_NEAR(us(softmax(Direction::Backward), gpu), 2 * read + 524.288, 1e-6);
}

// A warp issues 35 instructions for each element that the mask leaves, where memory takes no time. A clock
// and SM has 4 * 0.65 for 32 threads each: peak FP32 is 2 * 64 operations a clock and SM.
TEST(Softmax, with_a_causal_mask_computes_half) {
  GpuSpec gpu = plain_gpu();
  gpu.cores_per_sm = 64;
  gpu.peak.fp32 = FlopsPerSecond{1e12};
  const double clocks = 35.0 * kRows * 2048.5 / (4 * 0.65 * 32);  // of all SMs together
  EXPECT_NEAR(us(Softmax{.rows = kRows, .columns = 4096, .row_of_a_warp = 4096, .causal = true}, gpu),
              clocks * 2 * 64 / 1e12 * 1e6, 1e-6);
}

// Half as many threads on an SM mean that half as many blocks wait at a time: twice as long.
TEST(Softmax, waits_longer_where_fewer_threads_are_resident) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.threads_per_sm = 1024;
  EXPECT_NEAR(us(Softmax{kRows, 4096}, gpu), together(244, 4 * 524.288), 1e-6);
}

// Layer norm has 16 blocks of 128 threads on an SM, which touch 3/2 rows between its two reads of one: 30
// MiB, half of 60. In two parts of 1.5 copies every fourth second read is missing.
TEST(LayerNorm, reads_again_from_the_level_2_cache) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.peak.fp32 = FlopsPerSecond{1e30};
  gpu.l2_size = Bytes{2 * 1280 * 1.5 * 16384};
  const LayerNorm norm{kRows, 4096};
  EXPECT_NEAR(us(norm, gpu), 2 * 524.288, 1e-6);
  gpu.l2_partitions = 2;
  EXPECT_NEAR(us(norm, gpu), 2.25 * 524.288, 1e-6);
}

// An SM with 1,024 threads has 8 blocks, which touch 15 MiB: all of it is held.
TEST(LayerNorm, touches_less_where_fewer_threads_are_resident) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.peak.fp32 = FlopsPerSecond{1e30};
  gpu.l2_size = Bytes{1280 * 1.5 * 16384};
  gpu.threads_per_sm = 1024;
  EXPECT_NEAR(us(LayerNorm{kRows, 4096}, gpu), 2 * 524.288, 1e-6);
  gpu.threads_per_sm = 2048;
  EXPECT_NEAR(us(LayerNorm{kRows, 4096}, gpu), 2.5 * 524.288, 1e-6);
}

// Fused by torch.compile: 3 matrices read and 2 written; rows of 1,024 once, of 4,096 two of the three again
// without a cache. A softmax waits for its sums as alone.
TEST(FusedKernel, reads_again_what_it_says) {
  GpuSpec gpu = plain_gpu();
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.peak.fp32 = FlopsPerSecond{1e30};
  const FusedPasses fused{.reads = 3, .writes = 2, .again = 2};
  EXPECT_NEAR(us(LayerNorm{.rows = 4 * kRows, .columns = 1024, .fused = fused}, gpu), 5 * 524.288, 1e-6);
  EXPECT_NEAR(us(LayerNorm{.rows = kRows, .columns = 4096, .fused = fused}, gpu), 7 * 524.288, 1e-6);
  EXPECT_NEAR(us(Softmax{.rows = 4 * kRows, .columns = 1024, .fused = fused}, gpu), 5 * 524.288, 1e-6);
  EXPECT_NEAR(us(Softmax{.rows = kRows, .columns = 4096, .fused = fused}, gpu), together(122, 7 * 524.288),
              1e-6);
}

}  // namespace
}  // namespace lockstep
