// Predicted against measured: FlagPerf's, Qwen's, timm's and torchvision's published training speeds. The
// tables are shipped.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/commands/validate.hpp"
#include "calibration/validation_figures.hpp"
#include "calibration/validation_text.hpp"

namespace lockstep {
namespace {

struct Expected {
  const char* set;
  std::size_t points;
  double geometric_mean;  ///< of the errors of steps, at most
};

class PublishedSpeeds : public ::testing::TestWithParam<Expected> {};

TEST_P(PublishedSpeeds, ArePredicted) {
  const Validation validation = validate_set(GetParam().set, ConfigPath::standard(), {});
  fmt::print("{}", validation_text(validation));
  EXPECT_EQ(validation.points.size(), GetParam().points);
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean,
            GetParam().geometric_mean);
}

INSTANTIATE_TEST_SUITE_P(FlagPerf, PublishedSpeeds,
                         ::testing::Values(Expected{"flagperf_pytorch", 11, 0.12},
                                           Expected{"flagperf_megatron", 22, 0.12},
                                           Expected{"flagperf_llama", 4, 0.05}));
// LoRA by PEFT, and DeepSpeed's ZeRO-3 with sequences that wait for its hooks.
INSTANTIATE_TEST_SUITE_P(Qwen, PublishedSpeeds,
                         ::testing::Values(Expected{"qwen_fine_tuning_a100", 33, 0.065}));
// Seven networks in two layouts by three releases of PyTorch.
INSTANTIATE_TEST_SUITE_P(Timm, PublishedSpeeds, ::testing::Values(Expected{"timm_rtx3090", 42, 0.16}));
// In FP32 channels last costs a fifth.
INSTANTIATE_TEST_SUITE_P(TorchVision, PublishedSpeeds,
                         ::testing::Values(Expected{"torchvision_v100", 4, 0.05}));

}  // namespace
}  // namespace lockstep
