// Stores run at the rate of DRAM, whether or not the level-2 cache could hold them.

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

/// 1000 GB/s from DRAM, half of that for stores, 4000 GB/s from a level-2 cache of 10 MB.
GpuSpec small_gpu() {
  auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.l2_bandwidth = BytesPerSecond{4e12};
  gpu.l2_size = Bytes{10e6};
  gpu.efficiency.value.memory = 1;
  gpu.efficiency.value.writes = 0.5;
  return gpu;
}

double us(double reads, double writes) {
  return time_to_move(streamed(Bytes{reads}, Bytes{writes}), small_gpu()) / 1_us;
}

// 1 MB at 500 GB/s is 2 us, though all of it fits into the cache; 100 MB likewise.
TEST(Stores, of_a_tensor_that_fits_the_cache_are_no_faster) {
  EXPECT_NEAR(us(0, 1e6), 2, 1e-9);
  EXPECT_NEAR(us(0, 100e6), 200, 1e-9);
}

// Cached: 4 MB read at 4000 GB/s is 1 us. Of 3 MB read and 1 MB written, the stores are the longer part (2 us
// beside 1); from DRAM 99 MB read and 1 MB written take 100 us, and the stores nothing more.
TEST(Stores, hide_behind_reads_or_reads_behind_them) {
  EXPECT_NEAR(us(4e6, 0), 1, 1e-9);
  EXPECT_NEAR(us(3e6, 1e6), 2, 1e-9);
  EXPECT_NEAR(us(99e6, 1e6), 100, 1e-9);
}

}  // namespace
}  // namespace lockstep
