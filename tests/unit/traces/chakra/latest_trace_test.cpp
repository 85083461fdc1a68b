#include "traces/chakra/latest_trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "base/error.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::chakra {
namespace {

using testing::EtWriter;

class LatestTraceTest : public ::testing::Test {
 protected:
  /// Nodes of all kinds; the last two are not in the order in which they can be issued.
  static EtWriter trace(std::uint64_t first_duration, const std::string& name = "forward") {
    EtWriter made;
    made.node(0, "note", 1, {}, testing::number_field(7, 5));
    const auto forward = made.compute(name + ".0", {}, first_duration);
    const auto backward = made.compute("backward.0", {forward}, 1000);
    made.all_reduce({backward}, 1 << 20);
    made.collective(2, {backward}, 4096, "1");
    made.node(50, "late", 4, {60}, testing::number_field(7, 3));
    made.node(60, "early", 4, {forward}, testing::number_field(7, 300));
    return made;
  }

  std::filesystem::path file(const std::string& content) {
    folder_.write("trace.et", content);
    return folder_ / "trace.et";
  }

  /// Reads @p content after @p known. @return whether it was recognised
  bool recognised(const std::string& known, const std::string& content) {
    LatestTrace latest;
    TraceGraph graph;
    read_graph(file(known), tables_, graph, &latest);
    return latest.read_alike(file(content), graph);
  }

  struct Outcome {
    std::optional<TraceGraph> graph;
    std::string problem;
  };
  Outcome outcome(const std::filesystem::path& path, LatestTrace* latest) {
    Outcome made;
    TraceGraph graph;
    try {
      read_graph(path, tables_, graph, latest);
      made.graph = graph;
    } catch (const InputError& problem) {
      made.problem = problem.what();
    }
    return made;
  }

  test::ScratchFolder folder_;
  TraceTables tables_;
};

TEST_F(LatestTraceTest, OtherDurationsAreRecognisedWhateverTheirBytes) {
  const std::string known = trace(100).text();
  for (const std::uint64_t duration : {1ULL, 100ULL, 127ULL, 128ULL, 1ULL << 40U, ~0ULL}) {
    const std::string content = trace(duration).text();
    EXPECT_TRUE(recognised(known, content)) << duration;
    LatestTrace latest;
    (void)outcome(file(known), &latest);
    const Outcome alike = outcome(file(content), &latest);
    ASSERT_TRUE(alike.graph);
    EXPECT_EQ(alike.graph->ids, (std::vector<std::uint64_t>{1, 2, 3, 4, 60, 50}));
    EXPECT_EQ(alike.graph->microseconds, (std::vector<std::uint64_t>{duration, 1000, 0, 0, 300, 3}));
  }
}

TEST_F(LatestTraceTest, WhatDiffersInMoreIsNot) {
  const std::string known = trace(100).text();
  EXPECT_FALSE(recognised(known, trace(0).text()));  // none: needs a closer look
  EXPECT_FALSE(recognised(known, trace(100, "Forward").text()));
  EtWriter longer = trace(100);
  longer.compute("more", {}, 1);
  EXPECT_FALSE(recognised(known, longer.text()));
  EXPECT_FALSE(recognised(longer.text(), known));
}

TEST_F(LatestTraceTest, NothingIsKnownAtFirstNorAfterABadFile) {
  LatestTrace latest;
  TraceGraph graph;
  EXPECT_FALSE(latest.read_alike(file(trace(100).text()), graph));
  EtWriter circle = trace(100);
  circle.node(70, "first", 4, {71});
  circle.node(71, "second", 4, {70});
  EXPECT_NE(outcome(file(circle.text()), &latest).problem, "");
  EXPECT_FALSE(latest.read_alike(file(circle.text()), graph));
}

/// Whatever comes after a known trace is read, or rejected, as without knowing it.
TEST_F(LatestTraceTest, KnowingATraceChangesNothing) {
  const std::string known = trace(100).text();
  std::mt19937 random{1};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  for (int i = 0; i < 2000; ++i) {
    std::string content = known;
    for (auto changes = random() % 3; changes > 0; --changes) {
      content[random() % content.size()] ^= static_cast<char>(1U << random() % 8);
    }
    if (random() % 4 == 0) {
      content.resize(random() % content.size());
    }
    LatestTrace latest;
    (void)outcome(file(known), &latest);
    const auto path = file(content);
    const Outcome with = outcome(path, &latest);
    const Outcome without = outcome(path, nullptr);
    ASSERT_EQ(with.problem, without.problem);
    ASSERT_EQ(with.graph.has_value(), without.graph.has_value());
    if (with.graph) {
      ASSERT_TRUE(with.graph->same_shape(*without.graph));
      ASSERT_EQ(with.graph->ids, without.graph->ids);
      ASSERT_EQ(with.graph->microseconds, without.graph->microseconds);
      ASSERT_EQ(with.graph->groups, without.graph->groups);
      ASSERT_EQ(with.graph->missing, without.graph->missing);
    }
  }
}

}  // namespace
}  // namespace lockstep::chakra
