#include <gtest/gtest.h>

#include <filesystem>

#include "base/yaml_reader.hpp"
#include "ops/gpu/gpu_spec.hpp"

namespace lockstep {
namespace {

TEST(GpuConfigs, every_shipped_file_reads_and_is_named_like_its_file) {
  int read = 0;
  for (const auto& file : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/configs/gpus")) {
    const auto gpu = read_file<GpuSpec>(file.path());
    EXPECT_EQ(gpu.name, file.path().stem().string());
    EXPECT_FALSE(gpu.efficiency->fp32.tiles.empty()) << gpu.name;
    EXPECT_GE(gpu.l2_bandwidth, gpu.memory_bandwidth * gpu.efficiency->memory) << gpu.name;
    ++read;
  }
  EXPECT_GE(read, 10);
}

}  // namespace
}  // namespace lockstep
