// Replayed and what-if steps of a recorded pipeline against what was measured and published.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.hpp"
#include "traces/pipeline/stragglers.hpp"

namespace lockstep::pipeline {
namespace {

const std::filesystem::path kData = LOCKSTEP_SOURCE_DIR "/../shared/data/traces/pipeline_8gpu";

double mean_of(const nlohmann::json& by_step) {
  double sum = 0;
  for (const auto& [step, seconds] : by_step.items()) {
    sum += seconds.get<double>();
  }
  return sum / static_cast<double>(by_step.size());
}

class Stragglers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData)) {
      GTEST_SKIP() << "no recorded pipeline at ../shared/data/traces/pipeline_8gpu";
    }
    timeline_ = read_timeline((kData / "timeline-ST.json.gz").string());
    published_ = nlohmann::json::parse(read_whole_file(kData / "result-ST.json"));
  }
  static bool all(const Operation& /*operation*/, const Worker& /*worker*/) { return true; }

  Timeline timeline_;
  nlohmann::json published_;
};

// 8 GPUs (DP 2 x PP 4), 32 steps. Published: the measured step of each, and a simulator's, which leaves the
// host's delays out and is 1.9 % short of them.
TEST_F(Stragglers, StepsAreReplayed) {
  const Replay replay{timeline_};
  const double measured = mean_of(published_["step_t_base"]);
  const double published = mean_of(published_["step_t_nodelay"]);
  const double replayed = replay.mean_step(all, Delays::Recorded);
  const double without_delays = replay.mean_step(all, Delays::None);
  fmt::print("mean step of {}: measured {:.4f} s\n", timeline_.steps.size(), measured);
  fmt::print("  replayed               {:.4f} s {:+6.2f} %\n", replayed, 100 * (replayed / measured - 1));
  fmt::print("  without delays         {:.4f} s {:+6.2f} %\n", without_delays,
             100 * (without_delays / measured - 1));
  fmt::print("  published simulator    {:.4f} s {:+6.2f} %\n", published, 100 * (published / measured - 1));
  EXPECT_EQ(timeline_.steps.size(), 32U);
  EXPECT_NEAR(replayed / measured, 1, 0.015);
  EXPECT_NEAR(without_delays / published, 1, 0.005);
  const std::vector<double> steps = replay.steps(all, Delays::Recorded);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double its_own = published_["step_t_base"][fmt::format("{}", timeline_.steps[i])].get<double>();
    EXPECT_NEAR(steps[i] / its_own, 1, 0.015) << timeline_.steps[i];
  }
}

// Published: slow-down over the ideal, alone by stage, by data rank and by type of operation.
TEST_F(Stragglers, SlowDownsAreThePublishedOnes) {
  const StragglerStudy study = study_stragglers(Replay{timeline_}, Delays::None);
  fmt::print("{}", to_text(study));
  const auto slowdown = published_["blocking_slowdown"].get<double>();
  fmt::print("{:28} {:>10} {:>10}\n{:28} {:10.4f} {:10.4f}\n", "slow-down", "published", "ours", "all",
             slowdown, study.slowdown);
  EXPECT_NEAR(study.slowdown / slowdown, 1, 0.02);
  const auto compare = [&](const char* key, const std::vector<Contribution>& list, const std::string& label) {
    for (const Contribution& one : list) {
      const auto expected = published_[key][one.part.substr(label.size())].get<double>();
      fmt::print("{:28} {:10.4f} {:10.4f}\n", one.part, expected, one.alone);
      EXPECT_NEAR(one.alone / expected, 1, 0.02) << one.part;
    }
  };
  compare("blocking_decompose_by_stage", study.stages, "stage ");
  compare("blocking_decompose_by_dp_rank", study.data_ranks, "data rank ");
  compare("blocking_decompose_by_optype", study.types, "");
  // The part of the loss that is gone when the last stage is typical ("Ms" of the publication): 1.2194.
  const auto last_stage = nlohmann::json::parse(read_whole_file(kData / "ms-ST.json"));
  EXPECT_NEAR(study.stages.back().explained / last_stage["Ms"].get<double>(), 1, 0.02);
}

TEST_F(Stragglers, SlowDownWithTheDelaysIsNear) {
  const Replay replay{timeline_};
  const double ideal =
      replay.mean_step([](const Operation&, const Worker&) { return false; }, Delays::Recorded);
  const double slowdown = replay.mean_step(all, Delays::Recorded) / ideal;
  fmt::print("slow-down with the host's delays: {:.4f}\n", slowdown);
  EXPECT_NEAR(slowdown / published_["blocking_slowdown"].get<double>(), 1, 0.02);
}

}  // namespace
}  // namespace lockstep::pipeline
