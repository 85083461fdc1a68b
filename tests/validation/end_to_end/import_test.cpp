/// @file
/// Every file of ../shared/data/traces is imported, and profiles with their execution traces become Chakra
/// traces in which nothing is missing.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "app/trace_conversion.hpp"
#include "base/error.hpp"
#include "scenario/prediction.hpp"
#include "scenario/replay_run.hpp"
#include "tests/support/measured_table.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/imported_traces.hpp"

namespace lockstep::testing {
namespace {

class RealImport : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(measured("traces"))) {
      GTEST_SKIP() << "no ../shared/data/traces here";
    }
  }
};

/// One line of what a file was.
std::string outcome(const ImportedTraces& made) {
  if (!made.replays.empty()) {
    const replay::RankRecording& rank = *made.profiles().front();
    return fmt::format("profile: {} pieces of GPU work, {} kinds of oddities", rank.trace.work.size(),
                       rank.trace.report.rows().size());
  }
  if (!made.execution_traces.empty()) {
    return fmt::format("execution trace {}: {} nodes", made.execution_traces.front().schema,
                       made.execution_traces.front().nodes.size());
  }
  if (!made.chakra.empty()) {
    return fmt::format("Chakra, {}: {} nodes", made.chakra.front().kind, made.chakra.front().nodes);
  }
  return fmt::format("pipeline: {} operations", made.pipelines.front().operations.size());
}

/// All but what lies beside the timeline of the pipeline: its results and settings.
TEST_F(RealImport, EveryFileIsATrace) {
  std::vector<std::string> refused;
  int imported = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{measured("traces")}) {
    if (!entry.is_regular_file()) {
      continue;
    }
    try {
      std::printf("%s: %s\n", entry.path().filename().c_str(),
                  outcome(import_traces({entry.path().string()})).c_str());
      ++imported;
    } catch (const InputError& problem) {
      refused.push_back(entry.path().filename().string());
      std::printf("%s\n", problem.what());
    }
  }
  EXPECT_THAT(refused,
              ::testing::UnorderedElementsAre("meta-ST.yaml", "ms-ST.json", "mw-ST.json", "result-ST.json"));
  EXPECT_GE(imported, 46);
}

struct Pair {
  const char* profiles;
  const char* execution_traces;
  double linked;  ///< share of the operators with arguments of the execution trace, at least
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.profiles;
}

class RealConversion : public RealImport, public ::testing::WithParamInterface<Pair> {};

TEST_P(RealConversion, KeepsKernelsStreamsAndWaits) {
  std::vector<std::string> paths{measured(std::string{"traces/"} + GetParam().profiles).string()};
  if (*GetParam().execution_traces != 0) {
    paths.push_back(measured(std::string{"traces/"} + GetParam().execution_traces).string());
  }
  const ImportedTraces traces = import_traces(paths);
  ASSERT_EQ(traces.replays.size(), 1U);
  const test::ScratchFolder folder;
  const Conversion made = convert(traces.replays.front(), traces.execution_traces, {folder.path(), ""});
  std::printf("%s", to_text(made).c_str());
  for (const RankConversion& rank : made.traces) {
    for (std::size_t stream = 0; stream < rank.stream_work.size(); ++stream) {
      EXPECT_EQ(rank.written.streams[stream].work, rank.stream_work[stream]);
    }
    EXPECT_EQ(rank.written.launches, rank.launches);
    EXPECT_EQ(rank.written.collectives, rank.collectives);
    EXPECT_EQ(rank.written.stream_waits, rank.stream_waits);
    EXPECT_EQ(rank.written.stream_edges, rank.stream_edges);
    EXPECT_EQ(rank.written.host_waits, rank.host_waits);
    EXPECT_EQ(rank.written.operators, rank.operators);
    EXPECT_GE(static_cast<double>(rank.written.from_execution_trace),
              GetParam().linked * static_cast<double>(rank.operators));
  }
  // The written traces take what the replay takes.
  const ReplayRun run{{paths.front()}, YamlDocument::from_text("{}", "edits"), ConfigPath::standard()};
  const YamlDocument scenario = YamlDocument::from_file(folder / "scenario.yaml");
  const ResolvedScenario resolved = build(scenario, ConfigPath::standard().beside(folder.path()));
  EXPECT_EQ(predict(resolved, nullptr, EngineMode::Bare).makespan().in_base_units(),
            run.simulate(nullptr).simulation.makespan().in_base_units());
}

INSTANTIATE_TEST_SUITE_P(Files, RealConversion,
                         ::testing::Values(Pair{"dlrm_8xv100/kineto", "dlrm_8xv100/pytorch_et", 0.99},
                                           Pair{"linear_and_resnet_2080ti/linear_kineto.json.gz",
                                                "linear_and_resnet_2080ti/linear_et.json.gz", 0.9},
                                           Pair{"linear_and_resnet_2080ti/resnet_kineto.json.gz",
                                                "linear_and_resnet_2080ti/resnet_et.json.gz", 0.9},
                                           Pair{"vgg13_h100/profiler_vgg13-iter41.json.gz",
                                                "vgg13_h100/graph_vgg13-iter41.json.gz", 0.9},
                                           Pair{"torchrec_pipeline_4xv100", "", 0},
                                           Pair{"torchrec_resnet18_2xv100", "", 0},
                                           Pair{"single_rank/a100_rank3of8_six_steps.json.gz", "", 0}));

}  // namespace
}  // namespace lockstep::testing
