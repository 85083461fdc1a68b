/// @file
/// Replays of the real traces in ../shared/data/traces, simulated against measured. Iteration time alone
/// proves little, so GPU spans, communication and starts of kernels are held to bounds too.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>

#include "app/replay_report.hpp"
#include "scenario/replay_run.hpp"
#include "tests/support/measured_table.hpp"

namespace lockstep::testing {
namespace {

struct Bounds {
  const char* trace;
  double step, span, communication;  // relative errors
};

void PrintTo(const Bounds& bounds, std::ostream* out) {
  *out << bounds.trace;
}

ReplayRun replay_of(const char* trace, const std::string& edits) {
  return {{measured(std::string{"traces/"} + trace).string()},
          YamlDocument::from_text(edits, "edits"),
          ConfigPath::standard()};
}

class RealTrace : public ::testing::TestWithParam<Bounds> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(measured("traces"))) {
      GTEST_SKIP() << "no ../shared/data/traces here";
    }
  }
};

TEST_P(RealTrace, TakesPlaceAgainAsRecorded) {
  const Bounds& bounds = GetParam();
  const ReplayRun run = replay_of(bounds.trace, "{}");
  const ReplayRun::Result plain = run.simulate(nullptr);
  std::printf("%s", replay_text(run, plain, {}, false).c_str());
  for (const replay::RankComparison& rank : plain.ranks) {
    EXPECT_LT(std::abs(rank.gpu_span.error()), bounds.span);
    EXPECT_LT(rank.median_start_error, 0.01 * mean_step(plain).measured);
    for (const replay::StepPair& step : rank.steps) {
      EXPECT_LT(std::abs(step.duration().error()), bounds.step) << step.name;
    }
    // Microseconds of clocks are much for ranks that hardly wait.
    EXPECT_LT(std::abs(rank.communication.simulated - rank.communication.measured),
              bounds.communication * rank.communication.measured + 30e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, RealTrace,
    ::testing::Values(
        Bounds{"torchrec_resnet18_2xv100", 0.005, 0.005, 0.03},
        Bounds{"linear_and_resnet_2080ti/linear_kineto.json.gz", 0.005, 0.005, 0.03},
        Bounds{"linear_and_resnet_2080ti/resnet_kineto.json.gz", 0.005, 0.005, 0.03},
        Bounds{"dlrm_8xv100/kineto", 0.03, 0.03, 0.03},
        Bounds{"single_rank/a100_rank3of8_six_steps.json.gz", 0.02, 0.02, 0.02},
        Bounds{"single_rank/a100_rank0of2_nccl_arguments.json.gz", 0.02, 0.02, 0.02},
        Bounds{"resnet50_v100_loader_in_process/worker0.1623143089861.pt.trace.json.gz", 0.005, 0.005, 0.03},
        Bounds{"resnet50_v100_loader_in_process/worker0.1623143566756.pt.trace.json.gz", 0.005, 0.005, 0.03},
        Bounds{"torchrec_pipeline_4xv100", 0.04, 0.04, 0.04},
        Bounds{"vgg13_h100/profiler_vgg13-iter41.json.gz", 0.005, 0.005, 0.03},
        Bounds{"cuda_sync/alexnet.json.gz", 0.005, 0.005, 0.03},
        Bounds{"cuda_sync/cuda_event_sync.json.gz", 0.005, 0.005, 0.03},
        Bounds{"cuda_sync/cuda_event_sync_multi_stream.json.gz", 0.005, 0.005, 0.03},
        Bounds{"cuda_sync/simple_add.json.gz", 0.005, 0.005, 0.03}));

/// Against what the last rank to arrive measured: its kernel waits for nobody.
TEST(RealTransfers, OnADgx1vTakeWhatTheyTook) {
  if (!std::filesystem::exists(measured("traces"))) {
    GTEST_SKIP() << "no ../shared/data/traces here";
  }
  const ReplayRun run = replay_of("dlrm_8xv100/kineto", "cluster: dgx1v");
  Errors errors;
  for (const replay::TransferComparison& transfer : run.transfers()) {
    EXPECT_FALSE(transfer.is_inferred);
    errors.add(transfer.predicted, transfer.recorded);
  }
  EXPECT_LT(errors.geometric_mean(), 0.15);
}

/// Kernels predicted on the GPU that was recorded: a test of the kernel models on whole steps.
struct PredictedBounds {
  const char* trace;
  std::string edits;
  double covered;      ///< share of the kernel time that models answer for, at least
  double total, step;  ///< relative errors at most: of that time, and of the step
  double alone;        ///< and of kernels beside which nothing communicates
};

void PrintTo(const PredictedBounds& bounds, std::ostream* out) {
  *out << bounds.trace << " " << bounds.edits;
}

class PredictedTrace : public ::testing::TestWithParam<PredictedBounds> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(measured("traces"))) {
      GTEST_SKIP() << "no ../shared/data/traces here";
    }
  }
};

TEST_P(PredictedTrace, KernelsTakeAboutWhatTheyTook) {
  const PredictedBounds& bounds = GetParam();
  const ReplayRun run = replay_of(bounds.trace, bounds.edits);
  const ReplayRun::Result result = run.simulate(nullptr);
  std::printf("%s", replay_text(run, result, {}, false).c_str());
  ASSERT_NE(run.kernels(), nullptr);
  const replay::FamilyComparison modelled = run.kernels()->modelled();
  EXPECT_GT(modelled.recorded / run.kernels()->recorded, bounds.covered);
  EXPECT_LT(std::abs(modelled.predicted / modelled.recorded - 1), bounds.total);
  EXPECT_LT(std::abs(modelled.alone_predicted / modelled.alone_recorded - 1), bounds.alone);
  EXPECT_LT(std::abs(mean_step(result).error()), bounds.step);
}

/// Kernels of embedding tables, by family: relative errors where nothing communicates.
struct EmbeddingBounds {
  const char* trace;
  std::string edits;
  double lookups, passes, updates;  ///< at most
};

void PrintTo(const EmbeddingBounds& bounds, std::ostream* out) {
  *out << bounds.trace;
}

class PredictedEmbeddings : public ::testing::TestWithParam<EmbeddingBounds> {};

TEST_P(PredictedEmbeddings, TakeAboutWhatTheyTook) {
  if (!std::filesystem::exists(measured("traces"))) {
    GTEST_SKIP() << "no ../shared/data/traces here";
  }
  const EmbeddingBounds& bounds = GetParam();
  const ReplayRun run = replay_of(bounds.trace, bounds.edits);
  ASSERT_NE(run.kernels(), nullptr);
  const std::map<std::string, double> most{{"embedding lookup", bounds.lookups},
                                           {"passes over lookups", bounds.passes},
                                           {"embedding update", bounds.updates}};
  std::size_t found = 0;
  for (const replay::FamilyComparison& family : run.kernels()->families) {
    if (const auto bound = most.find(family.family); bound != most.end()) {
      ++found;
      EXPECT_LT(std::abs(family.alone_predicted / family.alone_recorded - 1), bound->second) << family.family;
    }
  }
  EXPECT_EQ(found, most.size());
}

// The V100's tables are MLPerf's 26: a replay that is not told so knows of no popular rows.
INSTANTIATE_TEST_SUITE_P(
    Files, PredictedEmbeddings,
    ::testing::Values(
        EmbeddingBounds{"dlrm_8xv100/kineto", "gpu: v100_32gb", 0.10, 0.10, 0.50},
        EmbeddingBounds{"dlrm_8xv100/kineto", "{gpu: v100_32gb, embedding_tables: dlrm_dcnv2_mlperf}", 0.05,
                        0.10, 0.20},
        EmbeddingBounds{"single_rank/a100_rank3of8_six_steps.json.gz", "gpu: a100_40gb", 0.20, 0.10, 0.16}));

/// Its profile says no shapes.
std::string edits_2080ti() {
  return "{gpu: rtx_2080ti, execution_traces: [" +
         measured("traces/linear_and_resnet_2080ti/resnet_et.json.gz").string() + "]}";
}

INSTANTIATE_TEST_SUITE_P(Files, PredictedTrace,
                         ::testing::Values(
                             PredictedBounds{
                                 "resnet50_v100_loader_in_process/worker0.1623143089861.pt.trace.json.gz",
                                 "gpu: v100_32gb", 0.99, 0.08, 0.01, 0.08},
                             PredictedBounds{"vgg13_h100/profiler_vgg13-iter41.json.gz",
                                             "gpu: h100_80gb_boost", 0.97, 0.08, 0.08, 0.08},
                             PredictedBounds{"dlrm_8xv100/kineto", "gpu: v100_32gb", 0.76, 0.08, 0.01, 0.10},
                             PredictedBounds{"single_rank/a100_rank3of8_six_steps.json.gz", "gpu: a100_40gb",
                                             0.77, 0.28, 0.01, 0.17},
                             PredictedBounds{"linear_and_resnet_2080ti/resnet_kineto.json.gz", edits_2080ti(),
                                             0.98, 0.15, 0.01, 0.15}));

}  // namespace
}  // namespace lockstep::testing
