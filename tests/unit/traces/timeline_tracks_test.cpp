#include "traces/timeline_tracks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "small_job.hpp"
#include "traces/chrome_trace.hpp"

namespace lockstep::test {
namespace {

using nlohmann::json;

TEST(TimelineTracks, NameLinksWithTheirBandwidth) {
  const BytesPerSecond bandwidth{50e9};
  const Fabric fabric{two_gpus(),
                      {{0, 1, LinkKind::NvLink, bandwidth, Seconds{0}},
                       {0, 1, LinkKind::NvLink, bandwidth, Seconds{0}},
                       {1, 0, LinkKind::NvLink, bandwidth, Seconds{0}}}};
  const auto tracks = link_tracks(fabric, {{1, 1, {{0, 1e9}}}, {2, 1, {{0, 2e9}}}});
  ASSERT_EQ(tracks.size(), 2);
  EXPECT_EQ(tracks[0].name, "node0.gpu0->node0.gpu1#2 of 50 GB/s");
  EXPECT_EQ(tracks[1].name, "node0.gpu1->node0.gpu0 of 50 GB/s");
}

class WrittenTracks : public ::testing::Test {
 protected:
  json written(bool file_per_rank, const TimelineTracks& tracks) {
    const Job job = small_job();
    ChromeTraceOptions options;
    options.path = directory_.path() / "timeline.json.gz";
    options.file_per_rank = file_per_rank;
    ChromeTraceWriter writer{job, two_gpus(), options};
    writer.write(spans_of_small_job(2));
    writer.finish(tracks);
    events_ = writer.events();
    return json::parse(gunzip(writer.paths().front()));
  }

  TemporaryDirectory directory_;
  std::uint64_t events_ = 0;
};

const std::vector<PathPiece> kPath{{0, true, 0, 0, 1e-6}, {1, false, 0, 1e-6, 2.5e-6}};

TEST_F(WrittenTracks, AreInTheMergedFile) {
  const std::uint64_t before = (written(false, {}), events_);
  const json trace =
      written(false, {.path = kPath, .links = {{"a->b of 50 GB/s", {{0, 12.5e9}, {2e-6, 0}}}}});
  EXPECT_EQ(events_, before + 4);
  const auto path = events_with(trace, "cat", "critical_path");
  ASSERT_EQ(path.size(), 2);
  EXPECT_EQ(path[1]["name"], "rank 1 stream compute");
  EXPECT_DOUBLE_EQ(path[1]["ts"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(path[1]["dur"].get<double>(), 1.5);
  const auto loads = events_with(trace, "ph", "C");
  ASSERT_EQ(loads.size(), 2);
  EXPECT_EQ(loads[0]["name"], "a->b of 50 GB/s");
  EXPECT_DOUBLE_EQ(loads[0]["args"]["GB/s"].get<double>(), 12.5);
  EXPECT_DOUBLE_EQ(loads[1]["args"]["GB/s"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(loads[1]["ts"].get<double>(), 2);
  EXPECT_NE(loads[0]["pid"], path[0]["pid"]);
}

TEST_F(WrittenTracks, HaveTheMemoryOfRanksInTheirProcesses) {
  MemoryBreakdown held;
  held[MemoryUse::Parameters] = 3e9;
  held[MemoryUse::Activations] = 0.5e9;
  const std::vector<MemoryCourse> memory{{1, {{2e-6, held}}, 0}};
  const auto levels = events_with(written(false, {.memory = memory}), "ph", "C");
  ASSERT_EQ(levels.size(), 1);
  EXPECT_EQ(levels[0]["name"], "GPU memory");
  EXPECT_EQ(levels[0]["pid"], 1);
  EXPECT_DOUBLE_EQ(levels[0]["ts"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(levels[0]["args"]["GB"].get<double>(), 3.5);
}

TEST_F(WrittenTracks, AreNotInFilesOfRanks) {
  const std::vector<MemoryCourse> memory{{0, {{0, {}}}, 0}};
  const json trace = written(true, {.path = kPath, .links = {{"a->b", {{0, 1e9}}}}, .memory = memory});
  EXPECT_TRUE(events_with(trace, "cat", "critical_path").empty());
  EXPECT_TRUE(events_with(trace, "ph", "C").empty());
}

}  // namespace
}  // namespace lockstep::test
