// Predicted against measured: training steps of three DLRMs on V100, TITAN Xp and P100.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/commands/validate.hpp"
#include "calibration/validation_figures.hpp"
#include "calibration/validation_text.hpp"
#include "scenario/row_predictions.hpp"

namespace lockstep {
namespace {

const char* const kData = LOCKSTEP_SOURCE_DIR "/../shared/data";

TEST(DlrmOnOneGpu, AllPointsArePredicted) {
  if (!std::filesystem::exists(std::filesystem::path{kData} / "end_to_end")) {
    GTEST_SKIP() << "no measurements at ../shared/data/end_to_end";
  }
  const Validation validation = validate_set("dlrm_single_gpu", ConfigPath::standard(), {.data = kData});
  fmt::print("{}", validation_text(validation));
  EXPECT_EQ(validation.points.size(), 36U);  // 3 GPUs x 3 models x 4 batch sizes
  // Loose: a mechanism that breaks moves them further. Lin et al. have 8 % and 12 % for steps, 5 % for busy
  // time.
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean, 0.10);
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.mean, 0.12);
  EXPECT_LT(error_lines(validation, ComparedQuantity::GpuBusy).back().ours.geometric_mean, 0.10);
}

// validate_set() predicts without SimGrid, because it makes many predictions in one process.
TEST(DlrmOnOneGpu, TheBareEnginePredictsWhatSimGridDoes) {
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
