/// @file
/// Steps that wait for their batches: from the second on a step lasts the longer of its own time and the time
/// in which workers prepare a batch.

#include <gtest/gtest.h>

#include "app/answer.hpp"
#include "scenario/prediction.hpp"

namespace lockstep {
namespace {

constexpr double kTolerance = 1e-6;

/// 64 images on each of two GPUs.
ResolvedScenario resolved_from(const std::string& loader) {
  return build(YamlDocument::from_text("name: x\ncluster: dgx1v x 1\nsteps: 4\n"
                                       "workload: {model: resnet50, global_batch: 128" +
                                           loader + "}\nparallelism: {ranks: 2}\n",
                                       "scenario.yaml"),
               ConfigPath::standard());
}

double step_of(const std::string& loader) {
  return predict(resolved_from(loader), nullptr, EngineMode::Bare).mean_step().in_base_units();
}

TEST(Loader, FastWorkersAreHidden) {
  EXPECT_NEAR(step_of(", loader: {workers: 8, time_per_sample: 2 ms}"), step_of(""), kTolerance);  // 16 ms
}

/// 64 samples of 80 ms by 8 workers: 640 ms, where the step itself takes about 200.
TEST(Loader, SlowWorkersSetThePace) {
  EXPECT_NEAR(step_of(", loader: {workers: 8, time_per_sample: 80 ms}"), 0.64, kTolerance);
}

/// The training process prepares a batch while the GPU works on the one before: 64 ms of a step of 200 are
/// hidden. Where that is the longer of both, the step grows by what more a batch takes.
TEST(Loader, WithoutWorkersTheTrainingProcessPreparesWhileTheGpuWorks) {
  EXPECT_NEAR(step_of(", loader: {time_per_sample: 1 ms}"), step_of(""), kTolerance);
  EXPECT_NEAR(step_of(", loader: {time_per_sample: 10 ms}"),
              step_of(", loader: {time_per_sample: 5 ms}") + 0.32, kTolerance);
}

/// 2 ranks with 8 workers and themselves on 9 cores: half as fast.
TEST(Loader, TooFewCores) {
  EXPECT_NEAR(step_of(", loader: {workers: 8, time_per_sample: 80 ms, cores: 9}"), 1.28, kTolerance);
}

TEST(Loader, TheAnswerSaysWhatTheStepWaitsFor) {
  const ResolvedScenario resolved = resolved_from(", loader: {workers: 8, time_per_sample: 80 ms}");
  const SimulationResult result = predict(resolved, nullptr);
  EXPECT_EQ(bottleneck(resolved, result),
            "input-bound: the step waits for its batch, which takes 100 % of the critical path");
}

}  // namespace
}  // namespace lockstep
