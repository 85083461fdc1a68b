#include "synth/baselines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "synth/fit.hpp"
#include "synth/recorded_nodes.hpp"
#include "synth/sample.hpp"
#include "synth/score.hpp"
#include "tests/support/layered_job.hpp"

namespace lockstep::synth {
namespace {

Recording layered_recording(int layers, std::int64_t hidden) {
  testing::LayeredSizes sizes;
  sizes.layers = layers;
  sizes.hidden = hidden;
  Recording made;
  made.job = testing::layered_job(sizes);
  made.gpu = testing::shipped_a100();
  made.labels = {{"batch", static_cast<double>(sizes.tokens)}};
  return made;
}

std::set<std::pair<std::string, std::string>> pairs_of(const Recording& recording) {
  std::set<std::pair<std::string, std::string>> pairs;
  const std::vector<RecordedNode> nodes = recorded_nodes(recording);
  for (std::size_t i = 1; i < nodes.size(); ++i) pairs.emplace(nodes[i - 1].name, nodes[i].name);
  return pairs;
}

TEST(Baselines, DrawAsManyNodesAsTheJobHas) {
  const std::vector<Recording> jobs{layered_recording(6, 256)};
  const std::size_t length = recorded_nodes(jobs.front()).size();
  EXPECT_EQ(recorded_nodes(bootstrap_of_nodes(jobs, 1)).size(), length);
  EXPECT_EQ(recorded_nodes(markov_chain(jobs, 1)).size(), length);
}

// In the job a norm is always followed by a product; the chain knows that, the bootstrap does not.
TEST(Baselines, TheChainKeepsWhatFollowsWhat) {
  const std::vector<Recording> jobs{layered_recording(6, 256)};
  const auto recorded = pairs_of(jobs.front());
  const auto chained = pairs_of(markov_chain(jobs, 1));
  // One pair more is possible: the chain begins again where the job ends.
  std::size_t fresh = 0;
  for (const auto& pair : chained) fresh += recorded.contains(pair) ? 0 : 1;
  EXPECT_LE(fresh, 1U);
}

// Fitted to small jobs, asked for a bigger one: the model's kernels grow, drawn nodes stay those of the
// small.
TEST(Baselines, AreBeatenWhenAKnobIsTurned) {
  const std::vector<Recording> jobs{layered_recording(6, 256), layered_recording(12, 512)};
  const Recording truth = layered_recording(9, 1024);
  SampleOptions options;
  options.symbols = {{"layers", 9}, {"hidden", 1024}};
  Recording sampled;
  sampled.job = sample(fit(jobs, {}), truth.gpu, options).job;
  sampled.gpu = truth.gpu;
  const Score own = compare(sampled, truth);
  for (const Recording& baseline : {bootstrap_of_nodes(jobs, 1), markov_chain(jobs, 1)}) {
    const Score other = compare(baseline, truth);
    EXPECT_LT(own.classes.front().weighted_ks, other.classes.front().weighted_ks);
    EXPECT_LT(std::abs(own.work_ratio - 1), std::abs(other.work_ratio - 1));
  }
}

}  // namespace
}  // namespace lockstep::synth
