// cuDNN's attention on a GPU whose set has rates of its own for it, against the closed form.

#include <gmock/gmock.h>

#include "base/parameters.hpp"
#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

constexpr double kColumns = 65536;  // so long that nothing waits for memory

GpuSpec gpu_named(const std::string& name) {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
}

/// 37 heads of 1,024 rows in tiles of 256: one for each of a B200's 148 SMs.
FlashAttention one_wave(FlashVersion version, Direction direction, bool causal = false) {
  const bool forward = direction == Direction::Forward;
  return {.heads = 37,
          .queries = forward ? 1024 : static_cast<std::int64_t>(kColumns),
          .keys = forward ? static_cast<std::int64_t>(kColumns) : 1024,
          .head_size = 128,
          .causal = causal,
          .direction = direction,
          .version = version};
}

Prediction predicted(const FlashAttention& work, const GpuSpec& gpu) {
  const KernelCall call{"attention", DataType::BF16, work};
  return model_for(call).predict(call, gpu);
}

double rate(const FlashAttention& work, const GpuSpec& gpu, double columns) {
  const double flops = 4.0 * 37 * 1024 * 128 * columns * (work.direction == Direction::Backward ? 2.5 : 1);
  return flops / ((predicted(work, gpu).duration - gpu.kernel_minimum) / Seconds{1}) /
         gpu.peak.bf16.in_base_units();
}

GpuSpec with_own_kernels() {
  GpuSpec gpu = gpu_named("b200_180gb");
  gpu.efficiency.value.cudnn_attention = CudnnAttentionProfile{.forward = 0.8,
                                                               .backward = 0.5,
                                                               .forward_once = 400,
                                                               .backward_once = 600,
                                                               .masked = 0.9,
                                                               .rows = 256,
                                                               .flash_3 = false};
  return gpu;
}

TEST(CudnnAttention, rates_of_its_own_hold_where_a_set_has_them) {
  const GpuSpec gpu = with_own_kernels();
  const auto forward = one_wave(FlashVersion::CuDnn, Direction::Forward);
  const auto backward = one_wave(FlashVersion::CuDnn, Direction::Backward);
  EXPECT_NEAR(rate(forward, gpu, kColumns + 400), 0.8, 1e-9);
  EXPECT_NEAR(rate(backward, gpu, kColumns + 600), 0.5, 1e-9);
  const auto masked = one_wave(FlashVersion::CuDnn, Direction::Forward, true);  // long tiles come first
  EXPECT_NEAR(rate(masked, gpu, kColumns / 2 + 64 + 400), 0.8 * 0.9, 1e-9);
}

// Heads of 64 have the exponentials of heads of 128, a fifth of their time here: 1 / (0.8 + 0.2 * 2) of the
// rate.
TEST(CudnnAttention, narrow_heads_have_as_many_exponentials) {
  GpuSpec gpu = with_own_kernels();
  gpu.efficiency.value.cudnn_attention->forward_exponentials = 0.2;
  FlashAttention work = one_wave(FlashVersion::CuDnn, Direction::Forward);
  const double whole = (predicted(work, gpu).duration - gpu.kernel_minimum) / Seconds{1};
  work.head_size = 64;
  EXPECT_NEAR((predicted(work, gpu).duration - gpu.kernel_minimum) / Seconds{1}, whole / 2 * 1.2, 1e-12);
  gpu.efficiency.value.cudnn_attention->forward_exponentials = 1;
  EXPECT_THROW(gpu.efficiency.value.cudnn_attention->check(), FieldError);
}

// cuDNN 9.19's, calibration/measurements/h100/pytorch_attention.csv, microseconds.
TEST(CudnnAttention, of_an_h100_of_2025_is_what_was_measured) {
  FlashAttention work{.batch = 4,
                      .heads = 32,
                      .queries = 4096,
                      .keys = 4096,
                      .head_size = 128,
                      .causal = true,
                      .version = FlashVersion::CuDnn};
  const GpuSpec gpu = gpu_named("h100_80gb_cublas_13_boost");
  EXPECT_NEAR(predicted(work, gpu).duration / Seconds{1e-6}, 914.8, 0.07 * 914.8);
  work.direction = Direction::Backward;
  EXPECT_NEAR(predicted(work, gpu).duration / Seconds{1e-6}, 2809.8, 0.07 * 2809.8);
}

// Its three kernels apart are its time in one.
TEST(CudnnAttention, the_main_kernel_alone_is_what_the_others_leave) {
  FlashAttention work{.batch = 16,
                      .heads = 12,
                      .queries = 1024,
                      .keys = 1024,
                      .head_size = 64,
                      .direction = Direction::Backward,
                      .version = FlashVersion::CuDnn};
  const GpuSpec gpu = gpu_named("h100_80gb_cublas_13_boost");
  const Seconds whole = predicted(work, gpu).duration;
  work.main_alone = true;
  const Pointwise sums{.elements = 16 * 12 * 1024 * 64, .reads = 2, .writes = 0},
      conversion{.elements = 16 * 12 * 1024 * 64, .reads = 2, .writes = 1};
  const auto of = [&](const Pointwise& kernel) {
    const KernelCall call{"", DataType::BF16, kernel};
    return model_for(call).predict(call, gpu).duration;
  };
  EXPECT_NEAR((predicted(work, gpu).duration + of(sums) + of(conversion)) / whole, 1, 1e-9);
}

TEST(CudnnAttention, its_tiles_fill_the_sms) {
  GpuSpec gpu = with_own_kernels();
  gpu.efficiency.value.cudnn_attention->rows = 128;  // two waves of half the work each
  const auto work = one_wave(FlashVersion::CuDnn, Direction::Forward);
  EXPECT_NEAR(rate(work, gpu, kColumns + 400), 0.8, 1e-9);
  gpu.efficiency.value.cudnn_attention->rows = 512;  // half of the SMs have none
  EXPECT_NEAR(rate(work, gpu, kColumns + 400), 0.4, 1e-9);
}

// On Hopper, where a head's tiles come shortest first: four for each of 37 heads, one an SM, the longest with
// one and a half tiles more than the mean.
TEST(CudnnAttention, tiles_of_a_mask_differ_in_length) {
  GpuSpec gpu = with_own_kernels();
  gpu.efficiency.value.cudnn_attention->flash_3 = true;
  const double mean = kColumns / 2 + 64;
  const auto masked = one_wave(FlashVersion::CuDnn, Direction::Forward, true);
  EXPECT_NEAR(rate(masked, gpu, mean + 1.5 * 256 + 400), 0.8 * 0.9, 1e-9);
}

TEST(CudnnAttention, other_versions_keep_their_proportion) {
  GpuSpec gpu = with_own_kernels();
  const auto two = one_wave(FlashVersion::Two, Direction::Forward);
  const double before = predicted(two, gpu).duration / Seconds{1};
  gpu.efficiency.value.cudnn_attention.reset();
  EXPECT_EQ(predicted(two, gpu).duration / Seconds{1}, before);
  const auto cudnn = one_wave(FlashVersion::CuDnn, Direction::Forward);
  EXPECT_NEAR(rate(cudnn, gpu, kColumns + 120), 1.66 * gpu.efficiency->attention, 1e-9);
}

TEST(CudnnAttention, flash_attention_3_has_kernels_for_hopper_alone) {
  const auto three = one_wave(FlashVersion::Three, Direction::Forward);
  for (const char* name : {"b200_180gb", "a100_80gb", "l4_24gb", "rtx_4090_24gb"}) {
    EXPECT_FALSE(predicted(three, gpu_named(name)).in_range) << name;
  }
  for (const char* name : {"h100_80gb", "h100_80gb_pcie", "h100_80gb_cublas_13", "h200_141gb"}) {
    EXPECT_TRUE(predicted(three, gpu_named(name)).in_range) << name;
  }
  EXPECT_TRUE(predicted(one_wave(FlashVersion::Two, Direction::Forward), gpu_named("a100_80gb")).in_range);
}

TEST(CudnnAttention, what_cannot_be_is_refused) {
  for (auto change :
       {+[](CudnnAttentionProfile& p) { p.forward = 0; }, +[](CudnnAttentionProfile& p) { p.backward = 1.1; },
        +[](CudnnAttentionProfile& p) { p.masked = -1; },
        +[](CudnnAttentionProfile& p) { p.forward_once = -1; },
        +[](CudnnAttentionProfile& p) { p.backward_once = -1; },
        +[](CudnnAttentionProfile& p) { p.rows = 0; }}) {
    CudnnAttentionProfile profile;
    EXPECT_NO_THROW(profile.check());
    change(profile);
    EXPECT_THROW(profile.check(), FieldError);
  }
}

}  // namespace
}  // namespace lockstep
