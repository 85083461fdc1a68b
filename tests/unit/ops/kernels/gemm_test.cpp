// Matrix products against the closed form, term by term, with constants set by hand.

#include "ops/kernels/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "base/yaml_reader.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

class Product : public ::testing::Test {
 protected:
  Product() {
    profile.tiles = {{.rows = 128, .columns = 128, .warps = 8, .efficiency = 1}};
    profile.fixed_depth = 0;
    profile.half_warps = 0;
    profile.memory = 1;
    profile.fixed = Seconds{0};
  }

  [[nodiscard]] double us(const Gemm& gemm) const {
    return time_of_product(gemm, profile, gpu, DataType::FP32) / 1_us;
  }

  const GpuSpec gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");  // 80 SMs
  GemmProfile profile;
  const double flops_per_us = gpu.peak.fp32.in_base_units() / 80 / 1e6;  // of an SM
};

TEST_F(Product, lasts_as_long_as_the_fullest_sm) {
  EXPECT_NEAR(us({.m = 2048, .n = 1280, .k = 4096}), 2 * 2.0 * 128 * 128 * 4096 / flops_per_us,
              1e-6);  // 160 tiles
  EXPECT_NEAR(us({.m = 2048, .n = 1281, .k = 4096}), 3 * 2.0 * 128 * 128 * 4096 / flops_per_us, 1e-6);  // 176
}

// Short in k: it is bound by memory. A result that is added to is read and written, in 4 bytes.
TEST_F(Product, that_accumulates_reads_its_result_too) {
  const Gemm written{.m = 4096, .n = 4096, .k = 8};
  Gemm added = written;
  added.added_to = 4;
  const double operands = 2.0 * 4096 * 8 * 4, result = 4096.0 * 4096 * 4;
  EXPECT_NEAR(us(added) / us(written), (operands + 2 * result) / (operands + result), 1e-6);
}

// Each of 2 tiles of an SM is added up 32 times in k, an addition in place of a multiplication and one; 0.18
// of that is not hidden.
TEST_F(Product, with_split_accumulators_waits_for_some_additions) {
  const Gemm fast{.m = 2048, .n = 1280, .k = 4096};
  Gemm split = fast;
  split.split_accumulator = true;
  EXPECT_EQ(us(split), us(fast));
  profile.promotes_fp8 = true;
  EXPECT_NEAR(us(split) - us(fast), 0.18 * 2 * 2.0 * 128 * 128 * 32 / flops_per_us, 1e-6);
  EXPECT_EQ(us(fast), 2 * 2.0 * 128 * 128 * 4096 / flops_per_us);
}

// Rows of 4094 floats are no multiple of 16 bytes; without transposition it is those of n that count for B.
TEST_F(Product, of_unaligned_rows_is_slower) {
  profile.unaligned = 0.5;
  const double half = 2 * 2.0 * 128 * 128 * 4094 / flops_per_us;
  EXPECT_NEAR(us({.m = 2048, .n = 1280, .k = 4094, .transpose_b = true}), 2 * half, 1e-6);
  EXPECT_NEAR(us({.m = 2048, .n = 1280, .k = 4094, .transpose_a = true}), half, 1e-6);
  EXPECT_NEAR(us({.m = 2048, .n = 1278, .k = 4096, .transpose_a = true}), 2 * half * 4096 / 4094, 1e-6);
}

// Rows of 8192 floats are 32 KiB, half of the way from 16 to 48: half of the slow-down of 2 for 8192 rows of
// A and more, half of that for an eighth of them (cube root), none where rows of B run along n.
TEST_F(Product, of_long_rows_is_slower_when_both_run_along_k) {
  profile.long_rows = {.slowdown = 2, .from = 16_KiB, .to = 48_KiB};
  const double tile = 2.0 * 128 * 128 * 8192 / flops_per_us;
  EXPECT_NEAR(us({.m = 8192, .n = 1280, .k = 8192, .transpose_b = true}), 8 * tile * 2, 1e-6);
  EXPECT_NEAR(us({.m = 1024, .n = 1280, .k = 8192, .transpose_b = true}), tile * 1.5, 1e-6);
  EXPECT_NEAR(us({.m = 8192, .n = 1280, .k = 8192}), 8 * tile, 1e-6);
}

// 16 x 10 tiles are one wave of two on each SM, which reads 2048 rows of A and 1280 of B; 32 x 10 are two
// waves of which each reads 10 tiles' columns and 16 tiles' rows.
TEST_F(Product, reads_what_each_wave_needs) {
  profile.exposed = 0.5;
  const double dram = gpu.memory_bandwidth.in_base_units() / 1e6;  // B/us
  const double tile = 2.0 * 128 * 128 * 4096 / flops_per_us;
  const double wave = (2048 + 1280) * 4096.0 * 4 / dram;
  EXPECT_NEAR(us({.m = 2048, .n = 1280, .k = 4096}), 2 * tile + 0.5 * wave, 1e-6);
  EXPECT_NEAR(us({.m = 4096, .n = 1280, .k = 4096}), 4 * tile + 0.5 * 2 * wave, 1e-6);
}

// On tensor cores rows of the result count, too: 1278 halves are no multiple of 16 bytes, though rows of both
// operands run along k. On FP32 cores they do not.
TEST_F(Product, into_unaligned_rows_is_slower_on_tensor_cores) {
  profile.unaligned = 0.5;
  const auto time = [&](std::int64_t columns, DataType type) {
    return time_of_product({.m = 2048, .n = columns, .k = 4096, .transpose_b = true}, profile, gpu, type);
  };
  EXPECT_NEAR(time(1278, DataType::FP16) / time(1280, DataType::FP16), 2, 1e-9);
  EXPECT_NEAR(time(1278, DataType::FP32) / time(1280, DataType::FP32), 1, 1e-9);
}

// One tile of 128 x 128 lasts 256 times k over the rate; its result of 64 KiB streams at the whole bandwidth.
TEST_F(Product, writes_its_result_in_part_behind_its_arithmetic) {
  const double arithmetic = 256 * 2.0 * 128 * 128 * 64 / flops_per_us;
  const double writing = 256 * 80 * 128 * 128 * 4.0 / (gpu.memory_bandwidth.in_base_units() / 1e6);
  const Gemm short_sums{.batch = 20480, .m = 128, .n = 128, .k = 64};
  profile.write_overlap = 1;
  EXPECT_NEAR(us(short_sums) / (arithmetic + writing), 1, 1e-9);
  profile.write_overlap = 2;
  EXPECT_NEAR(us(short_sums) / std::hypot(arithmetic, writing), 1, 1e-9);
}

// Rows of 62 floats: kernels of 64 columns take them, in half of the waves' columns and at half the rate, and
// write behind their arithmetic. Of 64 it is the others that do.
TEST_F(Product, of_unaligned_rows_has_kernels_of_its_own) {
  profile.unaligned = 0.5;
  profile.unaligned_tiles = {{.rows = 128, .columns = 64, .warps = 8, .efficiency = 1}};
  profile.write_overlap = 2;
  const double columns = 256 * 2.0 * 128 * 64 * 4096 / flops_per_us;  // a wave of half a tile, 256 times
  const double writing = 256 * 80 * 128 * 62 * 4.0 / (gpu.memory_bandwidth.in_base_units() / 1e6);
  EXPECT_NEAR(us({.batch = 20480, .m = 128, .n = 62, .k = 4096}) / (2 * columns + writing), 1, 1e-9);
  EXPECT_NEAR(us({.batch = 20480, .m = 128, .n = 64, .k = 4096}) / std::hypot(2 * columns, writing * 64 / 62),
              1, 1e-9);
}

// Odd rows of 16 bits cost what the set says where both operands' run along k, else what `odd` says alone.
TEST_F(Product, of_odd_rows_along_k_costs_what_the_set_says) {
  profile.unaligned = 0.5;
  profile.odd = 0.25;
  profile.odd_along_k = 0.8;
  const auto rate = [&](bool along_k) {
    const auto time = [&](std::int64_t depth) {
      return time_of_product({.m = 2048, .n = 1280, .k = depth, .transpose_b = along_k}, profile, gpu,
                             DataType::FP16);
    };
    return time(4096) / time(4095) * 4095 / 4096;
  };
  EXPECT_NEAR(rate(false), 0.25, 1e-3);
  EXPECT_NEAR(rate(true), 0.2, 1e-3);
}

// One tile and k of 4096: two parts on two SMs take half the time, and are not taken where a tile is too
// many.
TEST_F(Product, is_split_where_tiles_leave_sms_idle) {
  profile.largest_split = 2;
  const double whole = 2.0 * 128 * 128 * 4096 / flops_per_us;
  EXPECT_NEAR(us({.m = 128, .n = 128, .k = 4096}), whole / 2, 1e-6);
  profile.most_tiles_to_split = 0.5;  // 40 of 80
  EXPECT_NEAR(us({.m = 128, .n = 40 * 128, .k = 4096}), whole / 2, 1e-6);
  profile.most_tiles_to_split = 0.49;
  EXPECT_NEAR(us({.m = 128, .n = 40 * 128, .k = 4096}), whole, 1e-6);
}

/// Beyond the set's fixed time, as part of that of moving @p bytes.
double moves(const Gemm& gemm, const std::string& gpu_name, DataType type, double bytes) {
  const GpuSpec gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu_name + ".yaml");
  const KernelEfficiency& reached = *gpu.efficiency;
  const GemmProfile& profile = uses_tensor_cores(gpu, type) ? reached.tensor
                               : gemm.batch > 1             ? reached.fp32_batched
                                                            : reached.fp32;
  const KernelCall call{"gemm", type, gemm};
  const Seconds time = GemmModel{}.predict(call, gpu).duration - profile.fixed;
  return time / (Bytes{bytes} / (gpu.memory_bandwidth * profile.memory));
}

// Kernels of vectors read a matrix once and have no tiles; two rows have.
TEST(VectorProduct, of_one_row_or_column_moves_its_matrix_once) {
  for (const char* gpu : {"p100_16gb_pcie", "v100_16gb", "a100_40gb", "h100_80gb", "t4_16gb"}) {
    for (const std::int64_t batch : {1, 1024}) {
      const double count = static_cast<double>(batch), matrix = 512 * 1024;
      const double row = 4 * count * (matrix + 512 + 1024);
      EXPECT_NEAR(moves({.batch = batch, .m = 1, .n = 512, .k = 1024}, gpu, DataType::FP32, row), 1, 1e-6);
      EXPECT_NEAR(moves({.batch = batch, .m = 512, .n = 1, .k = 1024}, gpu, DataType::FP32, row), 1, 1e-6);
    }
  }
  const Gemm two{.batch = 1024, .m = 2, .n = 32, .k = 32};
  EXPECT_GT(moves(two, "a100_40gb", DataType::FP32, 4.0 * 1024 * (32 * 32 + 4 * 32)), 10);
  EXPECT_NEAR(moves({.m = 1, .n = 4096, .k = 4096}, "a100_80gb", DataType::FP16, 2.0 * 4096 * 4098), 1, 1e-6);
  EXPECT_NEAR(moves({.m = 1, .n = 1, .k = 1000000}, "a100_80gb", DataType::FP32, 4.0 * 2000001), 1, 1e-6);
}

// gemmk1, which Pascal does not take (NeuSight: all 94 such products of a P100 have tiles of 128 x 64).
TEST(VectorProduct, of_depth_one_moves_its_results_once_in_a_batch) {
  const Gemm outer{.batch = 1024, .m = 32, .n = 32, .k = 1};
  const double bytes = 4.0 * 1024 * (32 * 32 + 2 * 32);
  EXPECT_NEAR(moves(outer, "a100_40gb", DataType::FP32, bytes), 1, 1e-6);
  EXPECT_GT(moves(outer, "p100_16gb_pcie", DataType::FP32, bytes), 1.2);
  const Gemm deeper{.batch = 1024, .m = 32, .n = 32, .k = 2};
  EXPECT_GT(moves(deeper, "a100_40gb", DataType::FP32, bytes), 2);
}

// A step of a recommender on an A100 (../shared/data/traces/single_rank/a100_rank3of8_six_steps): us.
TEST(VectorProduct, of_vectors_in_a_batch_is_near_what_was_measured) {
  const GpuSpec gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/a100_40gb.yaml");
  const auto time = [&](const Gemm& gemm) {
    return GemmModel{}.predict({"gemm", DataType::FP32, gemm}, gpu).duration / 1_us;
  };
  EXPECT_NEAR(time({.batch = 1024, .m = 1, .n = 32, .k = 32}) / 8, 1, 0.2);
  EXPECT_NEAR(time({.batch = 1024, .m = 32, .n = 1, .k = 32}) / 11, 1, 0.4);
  EXPECT_NEAR(time({.batch = 1024, .m = 32, .n = 32, .k = 1}) / 10, 1, 0.4);
  EXPECT_NEAR(time({.m = 1024, .n = 1, .k = 5185}) / 17, 1, 0.2);
  EXPECT_NEAR(time({.m = 1, .n = 5185, .k = 1024}) / 25, 1, 0.3);
}

TEST_F(Product, of_nothing_is_refused) {
  EXPECT_THROW((void)us({.m = 0, .n = 1, .k = 1}), std::invalid_argument);
}

TEST(GemmProfile, fractions_and_ranges_are_checked) {
  const auto refused = [](auto change) {
    GemmProfile profile;
    profile.tiles = {GemmTile{}};
    change(profile);
    EXPECT_THROW(profile.check(), FieldError);
  };
  refused([](GemmProfile& of) { of.exposed = 1.5; });
  refused([](GemmProfile& of) { of.unaligned = 0; });
  refused([](GemmProfile& of) { of.odd_along_k = 0; });
  refused([](GemmProfile& of) { of.write_overlap = 0.9; });
  refused([](GemmProfile& of) { of.most_tiles_to_split = 0; });
  EXPECT_THROW((LongRows{.slowdown = 1, .from = 2_KiB, .to = 1_KiB}).check(), FieldError);
  EXPECT_THROW((LongRows{.slowdown = -1, .from = 1_KiB, .to = 2_KiB}).check(), FieldError);
}

}  // namespace
}  // namespace lockstep
