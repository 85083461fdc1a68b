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

std::string text_of(const RunMetrics& metrics) {
  std::string text;
  metrics.write([&text](std::string_view piece) { text += piece; });
  return text;
}

/// A page's size does not grow with the machine.
TEST(RunMetrics, HaveAllLinksInTheFileAndTheBusiestOnThePage) {
  const auto [resolved, result] = run_on("dgx1v x 16", 128);
  const RunMetrics metrics{resolved, result, {}};
  const std::string all = text_of(metrics);
  const std::string of_page = metrics.of_page();
  EXPECT_EQ(all, metrics_json(resolved, result));
  ASSERT_GT(links_in(all), kLinksOfPage);
  EXPECT_EQ(links_in(of_page), kLinksOfPage);
  const std::size_t links = of_page.find("\"links\"");
  const std::size_t last = of_page.rfind("\"bytes_per_step\"");
  EXPECT_EQ(all.substr(0, last), of_page.substr(0, last));  // the busiest come first
  EXPECT_LT(links, last);
  EXPECT_EQ(all.substr(all.find("\"memory\"")), of_page.substr(of_page.find("\"memory\"")));
}

TEST(RunMetrics, AreTheSameOnThePageWhereThereAreFewLinks) {
  const auto [resolved, result] = run_on("dgx1v x 1", 2);
  const RunMetrics metrics{resolved, result, {}};
  const std::string all = text_of(metrics);
  const std::string of_page = metrics.of_page();
  EXPECT_EQ(all, of_page);
}

}  // namespace
}  // namespace lockstep
