/// @file
/// Profile -> Chakra traces -> simulation takes what the replay of the profile takes, and nothing of the
/// profile is missing in the traces.

#include <gtest/gtest.h>

#include "app/trace_conversion.hpp"
#include "scenario/prediction.hpp"
#include "scenario/replay_run.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/chrome_trace.hpp"

namespace lockstep {
namespace {

class ConvertedTimeline : public ::testing::Test {
 protected:
  /// The timeline of a scenario, as `lockstep run` writes it.
  void SetUp() override {
    const auto configs = ConfigPath::standard();
    const auto path = configs.find_scenario("dlrm_default_8xv100");
    const ResolvedScenario made = build(YamlDocument::from_file(path), configs.beside(path.parent_path()));
    ChromeTraceOptions options;
    options.path = folder_ / "timeline.json.gz";
    ChromeTraceWriter writer{made.job, made.fabric.vertices(), options};
    (void)predict(made, &writer, EngineMode::Bare);
    writer.finish();
  }

  [[nodiscard]] ReplayRun replay(const std::string& edits) const {
    return {{(folder_ / "timeline.json.gz").string()},
            YamlDocument::from_text(edits, "edits"),
            ConfigPath::standard()};
  }

  [[nodiscard]] double run_again() const {
    const YamlDocument scenario = YamlDocument::from_file(folder_ / "traces/scenario.yaml");
    const ResolvedScenario resolved = build(scenario, ConfigPath::standard().beside(folder_ / "traces"));
    return predict(resolved, nullptr, EngineMode::Bare).makespan().in_base_units();
  }

  test::ScratchFolder folder_;
};

TEST_F(ConvertedTimeline, TakesWhatItsReplayTakes) {
  const ReplayRun run = replay("{}");
  const double replayed = run.simulate(nullptr).simulation.makespan().in_base_units();
  (void)convert(run.replay(), {}, {folder_ / "traces", ""});
  EXPECT_EQ(run_again(), replayed);
}

TEST_F(ConvertedTimeline, OnAClusterItsCollectivesAreSimulatedThere) {
  const ReplayRun run = replay("cluster: dgx1v");
  const double replayed = run.simulate(nullptr).simulation.makespan().in_base_units();
  (void)convert(run.replay(), {}, {folder_ / "traces", "cluster: dgx1v\n"});
  EXPECT_DOUBLE_EQ(run_again(), replayed);
}

TEST_F(ConvertedTimeline, HasEveryKernelOnItsStreamAndEveryWait) {
  const ReplayRun run = replay("{}");
  const Conversion made = convert(run.replay(), {}, {folder_ / "traces", ""});
  ASSERT_EQ(made.traces.size(), 8U);
  for (const RankConversion& rank : made.traces) {
    ASSERT_EQ(rank.written.streams.size(), rank.stream_work.size());
    for (std::size_t stream = 0; stream < rank.stream_work.size(); ++stream) {
      EXPECT_EQ(rank.written.streams[stream].work, rank.stream_work[stream]);
    }
    EXPECT_EQ(rank.written.launches, rank.launches);
    EXPECT_EQ(rank.written.collectives, rank.collectives);
    EXPECT_GT(rank.collectives, 0U);
    EXPECT_EQ(rank.written.stream_waits, rank.stream_waits);
    EXPECT_EQ(rank.written.stream_edges, rank.stream_edges);
    EXPECT_GT(rank.stream_edges, 0U);
    EXPECT_EQ(rank.written.host_waits, rank.host_waits);
    EXPECT_EQ(rank.written.operators, rank.operators);
  }
}

}  // namespace
}  // namespace lockstep
