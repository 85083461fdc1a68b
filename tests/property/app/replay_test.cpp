#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "scenario/prediction.hpp"
#include "scenario/replay_run.hpp"
#include "traces/chrome_trace.hpp"

namespace lockstep {
namespace {

/// A scenario's timeline, written as `lockstep run` does: the simulator knows what really happened.
class OwnTimeline : public ::testing::Test {
 protected:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("lockstep_replay_" + std::to_string(::getpid()) + ".json.gz");

  void TearDown() override { std::filesystem::remove(path_); }

  /// @param slow_ranks as `vary.slow_ranks` lists them
  ResolvedScenario resolved(double host_speed, const std::string& slow_ranks = "[]",
                            const std::string& cluster = "dgx1v x 1") const {
    const auto configs = ConfigPath::standard();
    const auto path = configs.find_scenario("dlrm_default_8xv100");
    YamlDocument document = YamlDocument::from_file(path);
    document.set("host", "{ from: dgx1v_torchrec, speed: " + std::to_string(host_speed) + " }");
    document.set("cluster", cluster);
    document.set("vary.slow_ranks", slow_ranks);
    document.set("interference",
                 "false");  // recorded kernels keep what slowed them down, whatever overlaps now
    return build(document, configs.beside(path.parent_path()));
  }

  void record(const std::string& slow_ranks = "[]") const { write(resolved(1, slow_ranks)); }

  void write(const ResolvedScenario& made) const {
    ChromeTraceOptions options;
    options.path = path_;
    ChromeTraceWriter writer{made.job, made.fabric.vertices(), options};
    (void)predict(made, &writer, EngineMode::Bare);
    writer.finish();
  }

  [[nodiscard]] ReplayRun replay(const std::string& edits = "{}") const {
    return {{path_.string()}, YamlDocument::from_text(edits, "edits"), ConfigPath::standard()};
  }
};

TEST_F(OwnTimeline, ReplaysToItself) {
  record();
  const ReplayRun run = replay();
  const ReplayRun::Result plain = run.simulate(nullptr);
  ASSERT_EQ(plain.ranks.size(), 8U);
  for (const replay::RankComparison& rank : plain.ranks) {
    EXPECT_NEAR(rank.gpu_span.error(), 0, 1e-6);
    EXPECT_NEAR(rank.communication.error(), 0, 1e-4);
    EXPECT_LT(rank.p90_start_error, 50e-9);  // the file has nanoseconds, instructions have floats
    ASSERT_EQ(rank.steps.size(), 3U);
    for (const replay::StepPair& step : rank.steps) {
      EXPECT_NEAR(step.duration().error(), 0, 1e-6);
    }
  }
}

/// Also of two nodes, whose GPUs have the same ordinals.
TEST_F(OwnTimeline, OfSeveralNodesReplaysToItself) {
  const ResolvedScenario made = resolved(1, "[]", "dgx1v x 2");
  write(made);
  const ReplayRun run = replay();
  const ReplayRun::Result plain = run.simulate(nullptr);
  ASSERT_EQ(plain.ranks.size(), made.job.ranks.size());
  for (const replay::RankComparison& rank : plain.ranks) {
    EXPECT_GT(rank.gpu_span.measured, 0);
    EXPECT_NEAR(rank.gpu_span.error(), 0, 1e-6);
  }
}

/// The waits that the timeline does not show are inferred rightly: a host of twice the speed gives the step
/// that simulating one gives.
TEST_F(OwnTimeline, FasterHostGivesWhatSimulatingOneGives) {
  record();
  const ReplayRun run = replay("what_if: { host_speed: 2 }");
  const double changed = run.simulate(&run.spec().what_if).simulation.makespan().in_base_units();
  const double truth = predict(resolved(2), nullptr, EngineMode::Bare).makespan().in_base_units();
  EXPECT_NEAR(changed / truth, 1, 0.01);
}

/// Ranks whose hosts are slower, by half and twice, take the time of the others: as if none were. Their GPUs
/// are as fast as the others', so that their kernels are no reason.
TEST_F(OwnTimeline, CuredHostsGiveWhatSimulatingEqualOnesGives) {
  record("[{ rank: 2, host: 1.5 }, { rank: 5, host: 2 }]");
  const auto span = [this](const std::string& work) {
    const ReplayRun run = replay("what_if: { stragglers: median, straggler_work: " + work + " }");
    return run.simulate(&run.spec().what_if).simulation.makespan().in_base_units();
  };
  const double truth = predict(resolved(1), nullptr, EngineMode::Bare).makespan().in_base_units();
  const ReplayRun run = replay();
  EXPECT_GT(run.simulate(nullptr).simulation.makespan().in_base_units() / truth, 1.5);
  EXPECT_NEAR(span("host") / truth, 1, 0.002);
  EXPECT_NEAR(span("both") / truth, 1, 0.01);  // copies of ranks that come late share the way with fewer
  EXPECT_GT(span("kernels") / truth, 1.5);
}

/// Other buckets give what simulating them gives: 400 MiB, which overlap with little, on a GPT-2 whose
/// timeline has 25 MiB.
TEST_F(OwnTimeline, OtherBucketsGiveWhatSimulatingThemGives) {
  const auto configs = ConfigPath::standard();
  const auto path = configs.find_scenario("gpt2_8xa100");
  YamlDocument document = YamlDocument::from_file(path);
  document.set("interference", "false");  // as above
  const auto made = [&] { return build(document, configs.beside(path.parent_path())); };
  {
    const ResolvedScenario recorded = made();
    ChromeTraceOptions options;
    options.path = path_;
    ChromeTraceWriter writer{recorded.job, recorded.fabric.vertices(), options};
    (void)predict(recorded, &writer, EngineMode::Bare);
    writer.finish();
  }
  const ReplayRun run = replay("what_if: { buckets: { size: 400 MiB, first: 1 MiB } }");
  const double plain = run.simulate(nullptr).simulation.makespan().in_base_units();
  const double changed = run.simulate(&run.spec().what_if).simulation.makespan().in_base_units();
  document.set("parallelism.bucket", "400 MiB");
  const double truth = predict(made(), nullptr, EngineMode::Bare).makespan().in_base_units();
  EXPECT_GT(truth / plain, 1.005);
  EXPECT_NEAR(changed / truth, 1, 0.002);
}

}  // namespace
}  // namespace lockstep
