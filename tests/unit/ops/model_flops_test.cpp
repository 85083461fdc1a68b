#include "ops/model_flops.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace lockstep {
namespace {

KernelCall product(std::int64_t n, DataType type) {
  Gemm gemm;
  gemm.m = 10;
  gemm.n = n;
  gemm.k = 100;
  return {"gemm", type, gemm};
}

GpuSpec gpu_with(double fp32, double bf16) {
  GpuSpec gpu;
  gpu.peak.fp32 = FlopsPerSecond{fp32};
  gpu.peak.bf16 = FlopsPerSecond{bf16};
  return gpu;
}

TEST(ModelFlops, CountsAMultiplyAddAsTwo) {
  Gemm gemm;
  gemm.batch = 3;
  gemm.m = 5;
  gemm.n = 7;
  gemm.k = 11;
  EXPECT_EQ(model_flops({"gemm", DataType::FP32, gemm}), Flops{2.0 * 3 * 5 * 7 * 11});
}

// 2 batches of 3 heads: S = Q K^T and O = P V are 2 * 6 * 16 * 32 * 8 each; a causal mask halves them.
// Backward has four products of that size; the fifth, which the kernel does to have S again, is not the
// model's.
TEST(ModelFlops, AttentionBackwardIsTwiceForward) {
  FlashAttention attention;
  attention.batch = 2;
  attention.heads = 3;
  attention.queries = 16;
  attention.keys = 32;
  attention.head_size = 8;
  attention.causal = false;
  const double one = 2.0 * 6 * 16 * 32 * 8;
  EXPECT_EQ(model_flops({"fa", DataType::BF16, attention}), Flops{2 * one});
  attention.direction = Direction::Backward;
  EXPECT_EQ(model_flops({"fa", DataType::BF16, attention}), Flops{4 * one});
  attention.causal = true;
  EXPECT_EQ(model_flops({"fa", DataType::BF16, attention}), Flops{2 * one});
}

TEST(ModelFlops, OtherKernelsAreNoWorkOfTheModel) {
  EXPECT_EQ(model_flops({"add", DataType::FP32, Pointwise{1000, 2, 1, 1}}), Flops{0});
  EXPECT_EQ(model_flops({"wait", DataType::FP32, Timed{Seconds{1}}}), Flops{0});
}

// Both ranks launch 2 * 10 * 1 * 100 = 2000 FLOP in BF16; in the slot, rank 0 launches 4000 FLOP in FP32 and
// rank 1, on a GPU half as fast, 8000. At 1000 FLOP/s (FP32) and 4000 FLOP/s (BF16) of the fast GPU: rank 0:
// 2000/4000 + 4000/1000 = 4.5 s; rank 1: 2000/2000 + 8000/500 = 17 s; mean 10.75 s.
TEST(ModelFlops, TimeAtPeakIsTheMeanOfRanksTypesAndGpus) {
  Program program;
  program.streams = {"s"};
  program.kernels = {product(1, DataType::BF16),
                     product(2, DataType::FP32),
                     product(4, DataType::FP32),
                     {"copy", DataType::FP32, Memcpy{}}};
  Instruction shared{Opcode::Launch, 0, false, 0, 0, 0, 0};
  Instruction copy{Opcode::Launch, 0, false, 0, 3, 0, 0};
  Instruction slot{Opcode::Launch, 0, true, 0, 0, 0, 0};
  program.threads = {{"main", {shared, copy, slot}}};
  Job job;
  job.programs = {std::make_shared<const Program>(program)};
  job.ranks = {{0, 0, {}, {1}, {}}, {1, 0, {}, {2}, {}}};
  const std::vector<GpuSpec> gpus{gpu_with(1000, 4000), gpu_with(500, 2000)};
  const std::vector<std::uint32_t> gpu_of_rank{0, 1};
  EXPECT_DOUBLE_EQ(time_at_peak(job, gpus, gpu_of_rank).in_base_units(), 10.75);
}

// [product] recompute{ [product] inner{ [product] } } other{ [product] }: the first and the last are the
// model's.
TEST(ModelFlops, WhatIsComputedAgainIsNoWorkOfTheModel) {
  Program program;
  program.streams = {"s"};
  program.names = {"recompute", "inner"};
  program.kernels = {product(1, DataType::FP32)};
  const Instruction launch{Opcode::Launch, 0, false, 0, 0, 0, 0};
  const Instruction again{Opcode::RangeBegin, 0, false, 0, 0, 0, 0};
  const Instruction inner{Opcode::RangeBegin, 0, false, 0, 1, 0, 0};
  const Instruction end{Opcode::RangeEnd, 0, false, 0, 0, 0, 0};
  program.threads = {{"main", {launch, again, launch, inner, launch, end, end, inner, launch, end}}};
  Job job;
  job.programs = {std::make_shared<const Program>(program)};
  job.ranks = {{0, 0, {}, {}, {}}};
  const std::vector<GpuSpec> gpus{gpu_with(2000, 1)};
  const std::vector<std::uint32_t> gpu_of_rank{0};
  EXPECT_DOUBLE_EQ(time_at_peak(job, gpus, gpu_of_rank).in_base_units(), 2);
}

}  // namespace
}  // namespace lockstep
