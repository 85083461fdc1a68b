/// @file
/// DCNv2's cross layers in a DLRM of PyTorch: operators, gradients, memory, in closed form.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ops/workload/dlrm.hpp"
#include "ops/workload/layers/cross_network.hpp"
#include "tests/support/embedding_job.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// Two tables of 8 columns and the dense feature: 24 columns.
DlrmSpec dlrm(int layers) {
  DlrmSpec spec = tables_only({{.rows = {1000, 2000}, .dimension = 8}});
  if (layers > 0) {
    spec.interaction = Interaction::Cross;
    spec.cross_layers = layers;
    spec.cross_projection = 16;
  }
  return spec;
}

Job job_of(const DlrmSpec& spec, std::size_t ranks, Precision precision = Precision::FP32) {
  std::vector<VertexId> gpus(ranks);
  std::iota(gpus.begin(), gpus.end(), 0U);
  const std::vector<Bytes> memory(ranks, Bytes{80e9});
  TrainingSetup setup;
  setup.global_batch = 64 * static_cast<std::int64_t>(ranks);
  setup.precision = precision;
  setup.host = plain_host();
  setup.gpus = gpus;
  setup.gpu_memory = memory;
  return dlrm_job(spec, setup);
}

long count(const Job& job, const std::string& op, const std::string& kernel) {
  long found = 0;
  for (const ListedOperator& listed : operators_of(job)) {
    found += listed.name == op ? std::count(listed.kernels.begin(), listed.kernels.end(), kernel) : 0;
  }
  return found;
}

TEST(CrossNetwork, ALayerIsTwoProductsForwardAndFourBackward) {
  const Job without = job_of(dlrm(0), 1), with = job_of(dlrm(2), 1);
  EXPECT_NO_THROW(check(with));
  EXPECT_EQ(count(with, "aten::linear", "sgemm") - count(without, "aten::linear", "sgemm"), 4);
  EXPECT_EQ(count(with, "MmBackward0", "sgemm"), 8);
  EXPECT_EQ(count(with, "aten::mul", "vectorized_elementwise_kernel<mul>"), 2);
  EXPECT_EQ(count(with, "MulBackward0", "vectorized_elementwise_kernel<mul>"), 4);
}

TEST(CrossNetwork, ItsParametersAreAllReduced) {
  const CrossShape cross{.rows = 64, .width = 24, .projection = 16, .layers = 2};
  EXPECT_THAT(parameters_of(cross), ElementsAre(384, 384, 24, 384, 384, 24));
  const auto reduced = [](const Job& job) {
    double bytes = 0;
    for (const CollectiveCall& call : collectives_of(job, 0)) {
      bytes += call.kind == CollectiveKind::AllReduce ? call.size.in_base_units() : 0;
    }
    return bytes;
  };
  EXPECT_DOUBLE_EQ(reduced(job_of(dlrm(2), 2)) - reduced(job_of(dlrm(0), 2)), 2 * (384 + 384 + 24) * 4);
}

/// Weights; at the top of forward and beyond of each layer its output, its second factor and its first
/// product.
TEST(CrossNetwork, MemoryHoldsWhatBackwardReads) {
  const auto of = [](int layers, MemoryUse use) { return job_of(dlrm(layers), 1).memory.at(0)[use]; };
  EXPECT_DOUBLE_EQ(of(3, MemoryUse::Parameters) - of(2, MemoryUse::Parameters), (384 + 384 + 24) * 4);
  EXPECT_DOUBLE_EQ(of(300, MemoryUse::Activations) - of(299, MemoryUse::Activations), 64 * (2 * 24 + 16) * 4);
}

TEST(CrossNetwork, AutocastCastsTheInputOfEachLayer) {
  const Job job = job_of(dlrm(2), 1, Precision::BF16);
  EXPECT_NO_THROW(check(job));
  // x, W; V: three casts a layer; of the top MLP's single layer x, W and bias, of the bottom one likewise.
  EXPECT_EQ(count(job, "aten::linear", "unrolled_elementwise_kernel<cast>"), 2 * 3 + 3 + 3);
}

TEST(CrossNetwork, TheBottomMlpIsOnEveryRank) {
  DlrmSpec spec = dlrm(2);
  spec.bottom_mlp_placement = BottomMlpPlacement::FirstRank;
  EXPECT_THROW(spec.check(), FieldError);
}

}  // namespace
}  // namespace lockstep
