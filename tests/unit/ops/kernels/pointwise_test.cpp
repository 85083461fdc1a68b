#include "ops/kernels/pointwise.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

GpuSpec v100() {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb_pcie.yaml");
}

double microseconds(const Pointwise& work, const GpuSpec& gpu) {
  const KernelCall call{"kernel", DataType::FP32, work};
  return (PointwiseModel{}.predict(call, gpu).duration - gpu.kernel_minimum) / Seconds{1e-6};
}

TEST(Pointwise, AnOperandOfSectorsMovesThemWhole) {
  // 64 million elements whose window of 4 million sectors (128 MB) no cache of 6 MiB holds: beside 4 bytes an
  // operand 28 more come from memory for each element.
  const GpuSpec gpu = v100();
  const Pointwise plain{.elements = 64'000'000, .reads = 2};
  Pointwise sectors = plain;
  sectors.sector_window = 4'000'000;
  const Seconds extra = Bytes{28.0 * 64e6} / (gpu.memory_bandwidth * gpu.efficiency->memory);
  EXPECT_NEAR(microseconds(sectors, gpu), microseconds(plain, gpu) + extra / Seconds{1e-6}, 1e-6);
}

TEST(Pointwise, SectorsThatStayInTheCacheComeFromThereAlone) {
  // A window of 1,000 sectors stays: what is left is the longer of memory and 32 bytes an element of the
  // cache.
  const GpuSpec gpu = v100();
  const Pointwise plain{.elements = 64'000'000, .reads = 2};
  Pointwise sectors = plain;
  sectors.sector_window = 1'000;
  const double cache = Bytes{32.0 * 64e6} / gpu.l2_bandwidth / Seconds{1e-6};
  EXPECT_NEAR(microseconds(sectors, gpu), std::max(microseconds(plain, gpu), cache), 1e-6);
}

TEST(Pointwise, AChainOfLoadsTakesTwoHundredClocksEach) {
  // V100: 14.1 TFLOPS of 80 x 64 cores with two a clock are 1.38 GHz or so; 512 loads 74 us.
  const GpuSpec gpu = v100();
  const double clock = gpu.peak.fp32 / FlopsPerSecond{80 * 64 * 2.0};
  EXPECT_NEAR(microseconds({.elements = 2048, .chain = 512}, gpu), 512 * 200 / clock * 1e6, 1e-6);
}

TEST(Pointwise, TheLastBlocksChainFollowsWhatIsIssued) {
  const GpuSpec gpu = v100();
  const Pointwise issued{.elements = 64'000'000, .instructions = 100}, chain{.elements = 2048, .chain = 512};
  Pointwise both = issued;
  both.chain = chain.chain;
  EXPECT_NEAR(microseconds(both, gpu), microseconds(issued, gpu) + microseconds(chain, gpu), 1e-6);
}

TEST(Pointwise, WhatOnlyWritesWaitsForNoLoad) {
  const GpuSpec gpu = v100();
  EXPECT_NEAR(microseconds({.elements = 32, .reads = 0}, gpu) - microseconds({.elements = 32}, gpu), -0.45,
              0.01);
}

}  // namespace
}  // namespace lockstep
