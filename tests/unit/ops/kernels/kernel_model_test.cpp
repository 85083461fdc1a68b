#include "ops/kernel_model.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/yaml_reader.hpp"
#include "ops/kernels/tile_schedule.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

GpuSpec gpu_named(const std::string& name) {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
}

Prediction predicted(DataType type, const KernelWork& work, const std::string& gpu = "v100_16gb") {
  const KernelCall call{"kernel", type, work};
  return model_for(call).predict(call, gpu_named(gpu));
}

TEST(KernelModel, timed_work_lasts_as_long_as_it_says) {
  const Prediction prediction = predicted(DataType::FP32, Timed{7_us});
  EXPECT_EQ(prediction.duration, 7_us);
  EXPECT_EQ(prediction.provenance, Provenance::Measured);
}

TEST(KernelModel, nothing_is_shorter_than_an_empty_kernel) {
  for (const KernelWork& work :
       {KernelWork{Gemm{1, 1, 1, 1}}, KernelWork{Pointwise{1}}, KernelWork{Reduction{1, 1}},
        KernelWork{Concat{1}}, KernelWork{Transpose{1, 1, 1}}, KernelWork{TriangularIndex{1, 2}},
        KernelWork{Softmax{1, 1}}, KernelWork{LayerNorm{1, 1}}, KernelWork{EmbeddingBags{1, {{10, 16, 1.0}}}},
        KernelWork{IndexSelect{10, 1, 8}}, KernelWork{OptimizerUpdate{Optimizer::Sgd, 1}},
        KernelWork{Memcpy{1_B}}}) {
    const Seconds time = predicted(DataType::FP32, work).duration;
    EXPECT_GE(time, 1.5_us) << "alternative " << work.index();
    EXPECT_LE(time, 12_us) << "alternative " << work.index();
  }
}

/// 163,840 rows of 512 bytes, gathered from 8,192: 100.2 us on an H100, whose memory would take half (158
/// clocks for each of an SM's 1,241 blocks at 1.98 GHz are 99.0 us).
TEST(KernelModel, rows_come_no_faster_than_blocks_begin) {
  IndexSelect rows{.table_rows = 8192, .picks = 163840, .columns = 128};
  const auto time = [&] { return predicted(DataType::FP32, rows, "h100_80gb").duration / 1_us; };
  EXPECT_LT(time(), 60);
  rows.block_per_row = true;
  EXPECT_NEAR(time(), 100.2, 1);
}

TEST(KernelModel, what_reads_nothing_is_shorter_than_that) {
  for (const KernelWork& work : {KernelWork{Memset{1_B}}, KernelWork{Pointwise{.elements = 1, .reads = 0}}}) {
    EXPECT_NEAR(predicted(DataType::FP32, work).duration / 1_us, 1.05, 0.001) << work.index();
  }
}

// The work doubles: every family takes longer, none more than 2.6 times as long (a wave more, a cache less).
TEST(KernelModel, twice_the_work_takes_longer) {
  const auto growth = [](const KernelWork& small, const KernelWork& large) {
    return predicted(DataType::FP32, large).duration / predicted(DataType::FP32, small).duration;
  };
  using ::testing::AllOf, ::testing::Gt, ::testing::Lt;
  EXPECT_THAT(growth(Gemm{1, 4096, 4096, 4096}, Gemm{1, 8192, 4096, 4096}), AllOf(Gt(1.5), Lt(2.6)));
  EXPECT_THAT(growth(Pointwise{1 << 24}, Pointwise{1 << 25}), AllOf(Gt(1.5), Lt(2.6)));
  EXPECT_THAT(growth(Reduction{1 << 14, 1024}, Reduction{1 << 15, 1024}), AllOf(Gt(1.5), Lt(2.6)));
  EXPECT_THAT(growth(Softmax{1 << 14, 1024}, Softmax{1 << 15, 1024}), AllOf(Gt(1.5), Lt(2.6)));
  EXPECT_THAT(
      growth(EmbeddingBags{1 << 14, {{1000000, 64, 20.0}}}, EmbeddingBags{1 << 15, {{1000000, 64, 20.0}}}),
      AllOf(Gt(1.5), Lt(2.6)));
  EXPECT_THAT(growth(Memset{64_MiB}, Memset{128_MiB}), AllOf(Gt(1.5), Lt(2.6)));
}

TEST(KernelModel, a_type_the_gpu_lacks_is_refused) {
  EXPECT_THROW((void)predicted(DataType::BF16, Gemm{1, 128, 128, 128}), std::invalid_argument);
  EXPECT_THROW((void)predicted(DataType::FP32, Gemm{1, 0, 128, 128}), std::invalid_argument);
}

TEST(KernelModel, tf32_without_tensor_cores_for_it_is_fp32) {
  const Gemm gemm{1, 512, 512, 512};
  EXPECT_EQ(predicted(DataType::TF32, gemm).duration, predicted(DataType::FP32, gemm).duration);
  EXPECT_LT(predicted(DataType::TF32, gemm, "a100_40gb").duration,
            predicted(DataType::FP32, gemm, "a100_40gb").duration);
}

// Host copies are latency + size / rate: 1.5 us + 123 MB / 12.3 GB/s = 10.0015 ms.
TEST(KernelModel, host_copies_run_at_the_rate_of_the_link) {
  const Memcpy copy{123_MB, Memcpy::Path::HostToDevice, true};
  EXPECT_NEAR(predicted(DataType::FP32, copy).duration / 1_ms, 10.0015, 1e-9);
}

// T4's tensor cores have no measurements of their own, V100's have: provenance tells.
TEST(KernelModel, provenance_tells_measured_from_derived) {
  EXPECT_EQ(predicted(DataType::FP32, Gemm{1, 512, 512, 512}).provenance, Provenance::Fitted);
  EXPECT_EQ(predicted(DataType::FP16, Gemm{1, 512, 512, 512}).provenance, Provenance::Fitted);
  EXPECT_EQ(predicted(DataType::FP16, Gemm{1, 512, 512, 512}, "t4_16gb").provenance, Provenance::Derived);
  EXPECT_EQ(predicted(DataType::FP32, Pointwise{100}, "titan_xp").provenance, Provenance::Derived);
}

// FlashAttention-2 on H100 as arXiv 2407.08608, figures 5 and 6, measured them: 16,384 tokens, 2,048
// elements of all heads. TFLOPS as there: half of the scores counted with a mask.
double attention_rate(FlashAttention work, std::int64_t sequence) {
  work.batch = 16384 / sequence;
  work.heads = 2048 / work.head_size;
  work.queries = work.keys = sequence;
  const double flops = 4.0 * 16384 * 2048 * static_cast<double>(sequence) * (work.causal ? 0.5 : 1) *
                       (work.direction == Direction::Backward ? 2.5 : 1);
  return flops / (predicted(DataType::BF16, work, "h100_80gb").duration / 1_us) / 1e6;
}

/// Kernels of FlashAttention-2 are compiled for heads of whole 32 columns, of version 3 for 64, 96 and 128.
TEST(KernelModel, NarrowerHeadsTakeTheTimeOfTheirKernels) {
  const auto time = [](FlashVersion version, std::int64_t head) {
    const FlashAttention work{
        .batch = 8, .heads = 16, .queries = 4096, .keys = 4096, .head_size = head, .version = version};
    return predicted(DataType::BF16, work, "h100_80gb").duration / 1_us;
  };
  EXPECT_NEAR(time(FlashVersion::Two, 108) / time(FlashVersion::Two, 128), 1, 1e-6);
  EXPECT_NEAR(time(FlashVersion::Two, 150) / time(FlashVersion::Two, 160), 1, 1e-6);
  EXPECT_NEAR(time(FlashVersion::Three, 80) / time(FlashVersion::Three, 96), 1, 1e-6);
  EXPECT_LT(time(FlashVersion::MemoryEfficient, 80), time(FlashVersion::MemoryEfficient, 96));
}

TEST(KernelModel, flash_attention_2_on_h100_is_as_fast_as_published) {
  const auto expect = [](const FlashAttention& work, const std::vector<double>& tflops) {
    std::int64_t sequence = 1024;  // with 512 tokens and a mask we are up to 16 % too fast
    for (const double measured : tflops) {
      EXPECT_NEAR(attention_rate(work, sequence) / measured, 1, 0.07) << sequence << " tokens";
      sequence *= 2;
    }
  };
  const auto backward = Direction::Backward;
  expect({.head_size = 128, .causal = false}, {350, 362, 368, 370, 370});
  expect({.head_size = 128, .causal = true}, {260, 298, 319, 333, 335});
  expect({.head_size = 64, .causal = false}, {306, 318, 321, 322, 324});
  expect({.head_size = 64, .causal = true}, {229, 262, 284, 295, 299});
  expect({.head_size = 128, .causal = false, .direction = backward}, {260, 291, 310, 318, 322});
  expect({.head_size = 64, .causal = false, .direction = backward}, {238, 264, 279, 287, 291});
}

// The same figures for cuDNN 9.1 and FlashAttention-3, from 512 tokens on.
TEST(KernelModel, attention_for_hopper_is_as_fast_as_published) {
  const auto expect = [](FlashVersion version, double tolerance,
                         const std::vector<std::vector<double>>& tflops) {
    const std::vector<FlashAttention> works{
        {.head_size = 128, .causal = false},
        {.head_size = 128, .causal = true},
        {.head_size = 64, .causal = false},
        {.head_size = 64, .causal = true},
        {.head_size = 128, .causal = false, .direction = Direction::Backward},
        {.head_size = 64, .causal = false, .direction = Direction::Backward}};
    for (std::size_t i = 0; i < works.size(); ++i) {
      FlashAttention work = works[i];
      work.version = version;
      std::int64_t sequence = 512;
      for (const double measured : tflops[i]) {
        EXPECT_NEAR(attention_rate(work, sequence) / measured, 1, tolerance) << i << ": " << sequence;
        sequence *= 2;
      }
    }
  };
  expect(FlashVersion::CuDnn, 0.06,
         {{497, 574, 617, 609, 600, 595},
          {315, 410, 484, 518, 529, 539},
          {335, 373, 395, 408, 412, 413},
          {225, 288, 334, 363, 379, 388},
          {305, 408, 465, 499, 518, 516},
          {266, 348, 395, 417, 432, 433}});
  expect(FlashVersion::Three, 0.1,
         {{467, 565, 625, 638, 646, 648},
          {292, 423, 521, 579, 602, 616},
          {333, 392, 460, 476, 496, 497},
          {197, 265, 371, 420, 460, 473},
          {316, 424, 501, 542, 559, 561},
          {272, 363, 422, 453, 472, 474}});
}

// A100 has no wgmma: FlashAttention-2 reaches 0.73 of its peak, and cuDNN's attention no more. With as many
// exponentials as h = 1 has (heads of 128) only what a tile does once differs: (65536 + 120) columns for
// (65536 + 80), backward (65536 + 355) for (65536 + 235).
TEST(KernelModel, cudnn_is_no_faster_than_flash_attention_2_on_a100) {
  const auto time = [](FlashVersion version, Direction direction) {
    const FlashAttention work{.heads = 27,
                              .queries = direction == Direction::Forward ? 512 : 65536,
                              .keys = direction == Direction::Forward ? 65536 : 512,
                              .head_size = 128,
                              .causal = false,
                              .direction = direction,
                              .version = version};
    return predicted(DataType::BF16, work, "a100_80gb").duration - gpu_named("a100_80gb").kernel_minimum;
  };
  EXPECT_NEAR(time(FlashVersion::CuDnn, Direction::Forward) / time(FlashVersion::Two, Direction::Forward),
              65656.0 / 65616, 1e-9);
  EXPECT_NEAR(time(FlashVersion::CuDnn, Direction::Backward) / time(FlashVersion::Two, Direction::Backward),
              65891.0 / 65771, 1e-9);
}

// Products of few columns are bound by what they move: C of 2 bytes written, or of 4 read and written.
TEST(KernelModel, product_that_adds_to_its_result_moves_it_twice) {
  const Gemm fresh{.m = 8192, .n = 8192, .k = 16, .transpose_a = true};
  Gemm added = fresh;
  added.added_to = 4;
  const GpuSpec gpu = gpu_named("h100_80gb");
  const double more = 6.0 * 8192 * 8192;
  EXPECT_NEAR((predicted(DataType::BF16, added, "h100_80gb").duration -
               predicted(DataType::BF16, fresh, "h100_80gb").duration) /
                  (Bytes{more} / (gpu.memory_bandwidth * gpu.efficiency->tensor.memory)),
              1, 1e-9);
}

// 27 heads of 512 rows are 108 tiles, one for each SM of an A100: rates alone decide. FlashAttention-2 is 1.4
// times as fast as the first version forward, 2 times backward. Forward the last of a head's four tiles
// multiplies half of 65,536 keys, half a block, one and a half tiles more than the mean and 80 columns more,
// 0.93 x 0.73 of 312 TFLOPS, less for heads of 64 with twice the exponentials: 4 x 27 x 512 x 33104 x 64 FLOP
// in 631.6 us.
TEST(KernelModel, flash_attention_1_is_slower_backward_above_all) {
  const GpuSpec gpu = gpu_named("a100_80gb");
  const auto time = [&](FlashVersion version, Direction direction) {
    const FlashAttention work{.heads = 27,
                              .queries = direction == Direction::Forward ? 512 : 65536,
                              .keys = direction == Direction::Forward ? 65536 : 512,
                              .head_size = 64,
                              .direction = direction,
                              .version = version};
    return predicted(DataType::BF16, work, "a100_80gb").duration - gpu.kernel_minimum;
  };
  const Seconds forward = time(FlashVersion::Two, Direction::Forward);
  const Seconds backward = time(FlashVersion::Two, Direction::Backward);
  EXPECT_NEAR(forward / 1_us, 631.6, 0.1);
  EXPECT_NEAR(backward / forward, 2.5 / 0.88 * (33024.0 + 235) / (33024 + 80), 1e-9);
  EXPECT_NEAR(time(FlashVersion::One, Direction::Forward) / forward, 1.4, 1e-9);
  EXPECT_NEAR(time(FlashVersion::One, Direction::Backward) / backward, 2, 1e-9);
  EXPECT_NEAR(time(FlashVersion::OneCuda, Direction::Forward) / forward, 2, 1e-9);
  EXPECT_NEAR(time(FlashVersion::OneCuda, Direction::Backward) / backward, 2, 1e-9);
}

// Its kernels are for heads of 32, 64 and 128: one of 80 is multiplied as one of 128.
TEST(KernelModel, flash_attention_1_in_cuda_rounds_heads_up) {
  const auto time = [](FlashVersion version, std::int64_t head_size) {
    const FlashAttention work{
        .batch = 16, .heads = 32, .queries = 2048, .keys = 2048, .head_size = head_size, .version = version};
    return predicted(DataType::FP16, work, "a100_40gb").duration;
  };
  EXPECT_NEAR(time(FlashVersion::OneCuda, 80) / time(FlashVersion::OneCuda, 128), 1, 1e-9);
  EXPECT_LT(time(FlashVersion::OneCuda, 64), time(FlashVersion::OneCuda, 80));
  EXPECT_LT(time(FlashVersion::Two, 80), 0.8 * time(FlashVersion::Two, 128));
}

// In 16 bits about half as fast as FlashAttention-2, in FP32 by three products of TF32, at a third of its 156
// TFLOPS; without TF32 (V100) at FP32's own peak.
TEST(KernelModel, memory_efficient_attention_multiplies_three_times_in_fp32) {
  const auto time = [&](FlashVersion version, DataType type, const char* gpu) {
    const FlashAttention work{
        .heads = 27, .queries = 512, .keys = 65536, .head_size = 64, .causal = false, .version = version};
    return predicted(type, work, gpu).duration - gpu_named(gpu).kernel_minimum;
  };
  const Seconds two = time(FlashVersion::Two, DataType::BF16, "a100_80gb");
  const double half = time(FlashVersion::MemoryEfficient, DataType::BF16, "a100_80gb") / two;
  EXPECT_NEAR(half, 2.45, 0.02);
  EXPECT_NEAR(time(FlashVersion::MemoryEfficient, DataType::FP32, "a100_80gb") / two,
              half * (1.325 / 1.351) * (0.483 * 312) / (0.745 * 52), 1e-3);
  EXPECT_NEAR(time(FlashVersion::MemoryEfficient, DataType::FP32, "v100_32gb") /
                  time(FlashVersion::Two, DataType::FP32, "v100_32gb"),
              half, 1e-9);
}

// A random number for each score, with a mask for half of them:
// calibration/measurements/h100/pytorch_attention.csv has 247 and 302 us forward for 188 and 123 without
// dropout.
TEST(KernelModel, dropout_of_scores_costs_instructions) {
  const auto added = [](FlashVersion version, bool causal) {
    FlashAttention work{.batch = 16,
                        .heads = 12,
                        .queries = 1024,
                        .keys = 1024,
                        .head_size = 64,
                        .causal = causal,
                        .version = version};
    const Seconds without = predicted(DataType::BF16, work, "h100_80gb").duration;
    work.dropout = true;
    return (predicted(DataType::BF16, work, "h100_80gb").duration - without) / 1_us;
  };
  EXPECT_NEAR(added(FlashVersion::Two, false), 247 - 188, 6);
  EXPECT_NEAR(added(FlashVersion::CuDnn, false), 302 - 123, 10);
  const double fullest =
      ragged_share({.heads = 192, .rows = 8, .columns = 576, .more = 128, .once = 80}, 132);  // SM
  EXPECT_NEAR(added(FlashVersion::Two, true) / added(FlashVersion::Two, false), 0.5625 * fullest, 1e-9);
}

// All lookups of one row: after the first they hit the cache, so that the same call with uniform indices
// into a large table moves about lookups times more from DRAM.
TEST(KernelModel, reuse_shortens_a_look_up) {
  const auto time = [](double reuse) {
    return predicted(DataType::FP32, EmbeddingBags{4096, {{10000000, 128, 20.0, reuse}}}).duration;
  };
  EXPECT_LT(time(100), 0.7 * time(0));
  EXPECT_LE(time(1), 1.05 * time(0));
  EXPECT_GE(time(1), 0.95 * time(0));  // uniform lookups of a huge table hardly ever meet
}

}  // namespace
}  // namespace lockstep
