/// @file
/// Device memory of a DLRM against its closed form at the moment when it is fullest.

#include <gtest/gtest.h>

#include <numeric>

#include "ops/workload/dlrm.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

constexpr double kFloat = 4;
constexpr std::int64_t kBatch = 64;

/// Three features of width 2 and the dense one: 8 elements concatenated, 6 products and 2 interacted.
DlrmSpec small_dlrm(std::int64_t top, double pooling) {
  DlrmSpec spec;
  spec.bottom_mlp = {4, 8, 2};
  spec.top_mlp = {top, 1};
  spec.tables = {{.rows = {1000, 2000, 4000}, .dimension = 2, .pooling_factor = pooling}};
  return spec;
}

constexpr double kBottomParameters = 4 * 8 + 8 + 8 * 2 + 2;
constexpr double kTableParameters = 7000 * 2;
double top_parameters(double width) {
  return 8 * width + width + width + 1;
}

Job job_of(const DlrmSpec& spec, std::size_t ranks, const FrameworkSpec& framework = {}) {
  std::vector<VertexId> gpus(ranks);
  std::iota(gpus.begin(), gpus.end(), 0U);
  const std::vector<Bytes> memory(ranks, 80_GB);
  TrainingSetup setup;
  setup.global_batch = kBatch * static_cast<std::int64_t>(ranks);
  setup.precision = Precision::FP32;
  setup.framework = framework;
  setup.host = plain_host();
  setup.gpus = gpus;
  setup.gpu_memory = memory;
  return dlrm_job(spec, setup);
}

MemoryBreakdown memory_of(const Job& job, std::size_t rank) {
  return job.memory.at(job.ranks.at(rank).memory);
}

/// 64-bit indices and offsets of three tables; dense features and a label.
double inputs(double pooling) {
  return 8 * (3 * kBatch * pooling + 3 * kBatch + 1) + kFloat * kBatch * (4 + 1);
}

// A wide top MLP: fullest when backward enters its first layer. Then all that was kept is there but the last
// output, with the gradient of the hidden layer before and after its ReLU, and the gradients of the last
// layer.
TEST(DlrmMemory, IsFullestWhereTheWidestLayerGoesBack) {
  constexpr std::int64_t kWide = 1000;
  const MemoryBreakdown memory = memory_of(job_of(small_dlrm(kWide, 5), 1), 0);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Parameters],
                   kFloat * (kBottomParameters + top_parameters(kWide) + kTableParameters));
  EXPECT_EQ(memory[MemoryUse::Optimizer], 0);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Activations], inputs(5) + kFloat * kBatch * ((8 + 2) + 8 + 8 + kWide));
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Workspace], kFloat * kBatch * 2 * kWide);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Gradients], kFloat * (kWide + 1));
  EXPECT_EQ(memory[MemoryUse::Communication], 0);
}

// Many lookups: fullest when they are sorted. The gradient of the 8 concatenated elements is there, what the
// bottom MLP kept, and all gradients of the top MLP.
TEST(DlrmMemory, IsFullestWhereLookupsAreSorted) {
  constexpr double kPooling = 500;
  const MemoryBreakdown memory = memory_of(job_of(small_dlrm(16, kPooling), 1), 0);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Workspace], kFloat * kBatch * 8 + kPooling * 40 * 3 * kBatch);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Activations], inputs(kPooling) + kFloat * kBatch * (8 + 2));
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Gradients], kFloat * top_parameters(16));
}

// Before PyTorch 2 gradients stayed; each new one is added from a buffer of its own.
TEST(DlrmMemory, KeepsGradientsThatAreZeroed) {
  const MemoryBreakdown memory = memory_of(job_of(small_dlrm(16, 500), 1, {.zero_gradients = true}), 0);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Gradients], kFloat * (kBottomParameters + top_parameters(16)));
}

TEST(DlrmMemory, AdagradKeepsASumForEachElement) {
  DlrmSpec spec = small_dlrm(1000, 5);
  spec.optimizer = DlrmOptimizer::Adagrad;
  const MemoryBreakdown memory = memory_of(job_of(spec, 1), 0);
  EXPECT_EQ(memory[MemoryUse::Optimizer], memory[MemoryUse::Parameters]);
}

/// A sum for each element of the MLPs and each row of the tables.
TEST(DlrmMemory, RowWiseAdagradKeepsASumForEachRow) {
  DlrmSpec spec = small_dlrm(1000, 5);
  spec.optimizer = DlrmOptimizer::RowWiseAdagrad;
  const MemoryBreakdown memory = memory_of(job_of(spec, 1), 0);
  double rows = 0;
  for (const EmbeddingTable& table : spec.all_tables()) {
    rows += static_cast<double>(table.rows);
  }
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Optimizer], kFloat * (kBottomParameters + top_parameters(1000) + rows));
}

// Every rank has its tables, DistributedDataParallel's buckets, and at least the pooled rows it exchanges.
TEST(DlrmMemory, RanksHoldTheirTables) {
  const Job job = job_of(small_dlrm(1000, 5), 3);
  double tables = 0;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const MemoryBreakdown memory = memory_of(job, rank);
    tables += memory[MemoryUse::Parameters] - kFloat * (kBottomParameters + top_parameters(1000));
    EXPECT_GE(memory[MemoryUse::Communication], kFloat * (kBottomParameters + top_parameters(1000)));
  }
  EXPECT_DOUBLE_EQ(tables, kFloat * kTableParameters);
}

}  // namespace
}  // namespace lockstep
