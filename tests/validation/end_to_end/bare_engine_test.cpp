// The engine that scores are made with.

#include <gtest/gtest.h>

#include "scenario/row_predictions.hpp"

namespace lockstep {
namespace {

// validate_set() predicts without SimGrid, because it makes many predictions in one process.
TEST(Scores, OfTheBareEnginePredictsWhatSimGridDoes) {
  const ScenarioSettings settings{{"cluster", "single_p100 x 1"},
                                  {"host", "v100_lin_2022"},
                                  {"workload.model", "dlrm_ddp"},
                                  {"workload.global_batch", "512"}};
  const auto configs = ConfigPath::standard();
  const PredictedTimes bare = predict_row("a test", settings, configs, EngineMode::Bare);
  const PredictedTimes run_ahead = predict_row("a test", settings, configs, EngineMode::RunAhead);
  EXPECT_EQ(bare.step, run_ahead.step);
  EXPECT_EQ(bare.gpu_busy, run_ahead.gpu_busy);
}

}  // namespace
}  // namespace lockstep
