#include "ops/gpu/gpu_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/config_path.hpp"
#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

GpuSpec gpu_of(const std::string& text) {
  const test::ScratchFolder folder;
  folder.write("mine.yaml", text);
  return read_file<GpuSpec>(folder / "mine.yaml", ConfigPath::standard());
}

const Evidence& efficiency_of(const GpuSpec& gpu) {
  return evidence_for(gpu.provenance, "efficiency");
}

TEST(GpuSpec, NetworksAreOfTheGpuAsItWasMeasured) {
  EXPECT_TRUE(gpu_of("include: gpus/a100_80gb.yaml\n").learned);
  const GpuSpec slower = gpu_of("include: gpus/a100_80gb.yaml\nmemory_bandwidth: 800 GB/s\n");
  EXPECT_FALSE(slower.learned);
  EXPECT_FALSE(slower.efficiency->calibrated);
  EXPECT_EQ(efficiency_of(slower).is, Provenance::Derived);
  EXPECT_THAT(slower.lent_because, AllOf(HasSubstr("memory_bandwidth (set at "), HasSubstr("mine.yaml:2:"),
                                         HasSubstr("the networks do not answer"), Not(HasSubstr("peak"))));
  EXPECT_THAT(efficiency_of(slower).source, HasSubstr("memory_bandwidth"));
}

// Whosever the efficiencies are: networks of a GPU of one's own are most often beside a relative's.
TEST(GpuSpec, NetworksBesideARelativesEfficienciesAreDroppedLikewise) {
  const std::string mine = "include: gpus/a100_80gb.yaml\nprovenance:\n  efficiency: derived, a100_80gb's\n";
  const GpuSpec measured = gpu_of(mine);
  EXPECT_TRUE(measured.learned);
  EXPECT_THAT(measured.silent_because, IsEmpty());
  const GpuSpec changed = gpu_of("memory_bandwidth: 800 GB/s\n" + mine);
  EXPECT_FALSE(changed.learned);
  EXPECT_THAT(changed.silent_because, HasSubstr("memory_bandwidth (set at "));
  EXPECT_THAT(changed.lent_because, IsEmpty());
}

TEST(GpuSpec, ANumberWithASourceIsTheGpusOwn) {
  const GpuSpec gpu = gpu_of(
      "include: gpus/a100_80gb.yaml\nmemory_bandwidth: 2000 GB/s\n"
      "provenance:\n  memory_bandwidth: measured, its data sheet\n");
  EXPECT_EQ(efficiency_of(gpu).is, Provenance::Fitted);
  EXPECT_THAT(gpu.lent_because, IsEmpty());
}

// Times are multiples of what follows from them, whatever supports them.
TEST(GpuSpec, NetworksAnswerForTheNumbersThatTheyWereFittedWith) {
  const GpuSpec corrected = gpu_of(
      "include: gpus/a100_80gb.yaml\nmemory_bandwidth: 2000 GB/s\n"
      "provenance:\n  memory_bandwidth: measured, its data sheet\n");
  EXPECT_FALSE(corrected.learned);
  EXPECT_EQ(corrected.silent_because, "'a100_80gb' was fitted with memory_bandwidth 2.039 TB/s, now 2 TB/s");
  const GpuSpec same = gpu_of(
      "include: gpus/a100_80gb.yaml\nmemory_bandwidth: 2.039 TB/s\n"
      "provenance:\n  memory_bandwidth: measured, its data sheet\n");
  EXPECT_TRUE(same.learned);
  EXPECT_THAT(same.silent_because, IsEmpty());
}

// A set is fitted with the guess as it is.
TEST(GpuSpec, AGuessedLevel2RateLeavesAFittedSetFitted) {
  const std::string mine =
      "include: gpus/rtx_6000_ada_48gb.yaml\nname: l40s\nefficiency: a100_300w\n"
      "provenance:\n  efficiency: fitted, to kernels of this board\n";
  const GpuSpec fitted = gpu_of(mine);
  EXPECT_EQ(efficiency_of(fitted).is, Provenance::Fitted);
  EXPECT_TRUE(fitted.efficiency->calibrated);
  const GpuSpec changed = gpu_of("l2_bandwidth: 9 TB/s\n" + mine);
  EXPECT_EQ(efficiency_of(changed).is, Provenance::Derived);
  EXPECT_THAT(changed.lent_because, HasSubstr("l2_bandwidth (set at "));
}

TEST(GpuSpec, UsableMemoryIsWhatCudaReports) {
  const GpuSpec v100 = gpu_of("include: gpus/v100_32gb.yaml\n");
  EXPECT_DOUBLE_EQ(v100.memory.in_base_units(), 32 * 1073741824.0);
  EXPECT_NEAR(v100.usable().in_base_units(), 34.09e9, 0.005e9);  // 31.75 GiB
  EXPECT_NEAR(gpu_of("include: gpus/rtx_6000_ada_48gb.yaml\n").usable().in_base_units(), 50.98e9, 0.005e9);
}

// The number of another size of memory says nothing of this one: the share that most boards have stands in.
TEST(GpuSpec, UsableMemoryOfAnotherSizeIsAShare) {
  const GpuSpec larger = gpu_of("include: gpus/v100_32gb.yaml\nmemory: 100 GB\n");
  EXPECT_DOUBLE_EQ(larger.usable().in_base_units(), 98e9);
  const GpuSpec both = gpu_of("include: gpus/v100_32gb.yaml\nmemory: 100 GB\nusable_memory: 99 GB\n");
  EXPECT_DOUBLE_EQ(both.usable().in_base_units(), 99e9);
  EXPECT_THAT([] { (void)gpu_of("include: gpus/v100_32gb.yaml\nusable_memory: 35 GB\n"); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("at most the 34.36 GB of 'memory'")));
}

TEST(GpuSpec, EveryShippedGpuSaysItsUsableMemoryAndWhereItIsFrom) {
  const auto configs = ConfigPath::standard();
  for (const std::string& name : configs.names(GpuSpec::kConfigKind)) {
    const auto gpu = read_file<GpuSpec>(configs.find(GpuSpec::kConfigKind, name), configs);
    ASSERT_TRUE(gpu.usable_memory) << name;
    EXPECT_GT(*gpu.usable_memory / gpu.memory, 0.9) << name;
    EXPECT_NE(evidence_for(gpu.provenance, "usable_memory").is, Provenance::Guessed) << name;
  }
}

}  // namespace
}  // namespace lockstep
