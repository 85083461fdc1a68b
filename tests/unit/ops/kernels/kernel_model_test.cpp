#include "ops/kernel_model.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace lockstep {
namespace {

using namespace lockstep::literals;

GpuSpec v100() {
  GpuSpec gpu;
  gpu.name = "v100";
  gpu.sm_count = 80;
  gpu.peak.fp32 = 15.7_TFLOPS;
  gpu.peak.fp16 = 125_TFLOPS;
  gpu.memory = 16_GB;
  gpu.memory_bandwidth = 900_GBps;
  gpu.l2_size = 6_MiB;
  gpu.l2_bandwidth = 2200_GBps;
  gpu.shared_memory_per_sm = 96_KiB;
  return gpu;
}

Seconds predicted(DataType type, KernelWork work) {
  const KernelCall call{"kernel", type, std::move(work)};
  return model_for(call).predict(call, v100()).duration;
}

TEST(KernelModel, timed_work_lasts_as_long_as_it_says) {
  EXPECT_EQ(predicted(DataType::FP32, Timed{7_us}), 7_us);
}

TEST(KernelModel, nothing_is_shorter_than_an_empty_kernel) {
  for (const KernelWork& work :
       {KernelWork{Gemm{1, 1, 1, 1}}, KernelWork{Pointwise{1}}, KernelWork{Reduction{1, 1}},
        KernelWork{Concat{1}}, KernelWork{Transpose{1, 1, 1}}, KernelWork{TriangularIndex{1, 2}},
        KernelWork{Softmax{1, 1}}, KernelWork{LayerNorm{1, 1}}, KernelWork{EmbeddingBags{1, {{10, 16, 1.0}}}},
        KernelWork{IndexSelect{10, 1, 8}}, KernelWork{OptimizerUpdate{Optimizer::Sgd, 1}},
        KernelWork{Memcpy{1_B}}, KernelWork{Memset{1_B}}}) {
    EXPECT_GE(predicted(DataType::FP32, work), v100().kernel_minimum) << "alternative " << work.index();
    EXPECT_LE(predicted(DataType::FP32, work), 20_us) << "alternative " << work.index();
  }
}

// 8192^3 products: 2 * 8192^3 / 15.7 TFLOPS = 70.0 ms at the peak.
TEST(KernelModel, large_gemm_is_near_the_peak) {
  const Seconds time = predicted(DataType::FP32, Gemm{1, 8192, 8192, 8192});
  EXPECT_GT(time, 70.0_ms);
  EXPECT_LT(time, 70.0_ms / 0.8);
}

TEST(KernelModel, a_type_the_gpu_lacks_is_refused) {
  EXPECT_THROW((void)predicted(DataType::BF16, Gemm{1, 128, 128, 128}), std::invalid_argument);
}

TEST(KernelModel, tf32_without_tensor_cores_for_it_is_fp32) {
  EXPECT_EQ(predicted(DataType::TF32, Gemm{1, 512, 512, 512}),
            predicted(DataType::FP32, Gemm{1, 512, 512, 512}));
}

}  // namespace
}  // namespace lockstep
