#include "app/metrics_json.hpp"

#include <gtest/gtest.h>

#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

struct PredictedRun {
  ResolvedScenario resolved;
  SimulationResult result;
};

PredictedRun run_on(const std::string& cluster, int ranks) {
  ResolvedScenario resolved = build(
      test::document_of({.parallelism = "{ ranks: " + std::to_string(ranks) + " }", .cluster = cluster}),
      ConfigPath::standard());
  SimulationResult result = predict(resolved, nullptr, EngineMode::Bare);
  return {std::move(resolved), std::move(result)};
}

std::size_t links_in(const std::string& json) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = json.find("\"bytes_per_step\"", at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

/// A page's size does not grow with the machine.
TEST(RunMetrics, HaveAllLinksInTheFileAndTheBusiestOnThePage) {
  const auto [resolved, result] = run_on("dgx1v x 16", 128);
  const RunMetrics metrics = run_metrics(resolved, result, {});
  EXPECT_EQ(metrics.all, metrics_json(resolved, result));
  ASSERT_GT(links_in(metrics.all), kLinksOfPage);
  EXPECT_EQ(links_in(metrics.of_page), kLinksOfPage);
  const std::size_t links = metrics.of_page.find("\"links\"");
  const std::size_t last = metrics.of_page.rfind("\"bytes_per_step\"");
  EXPECT_EQ(metrics.all.substr(0, last), metrics.of_page.substr(0, last));  // the busiest come first
  EXPECT_LT(links, last);
  EXPECT_EQ(metrics.all.substr(metrics.all.find("\"memory\"")),
            metrics.of_page.substr(metrics.of_page.find("\"memory\"")));
}

TEST(RunMetrics, AreTheSameOnThePageWhereThereAreFewLinks) {
  const auto [resolved, result] = run_on("dgx1v x 1", 2);
  const RunMetrics metrics = run_metrics(resolved, result, {});
  EXPECT_EQ(metrics.all, metrics.of_page);
}

}  // namespace
}  // namespace lockstep
