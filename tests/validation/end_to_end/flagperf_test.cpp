// Predicted against measured: FlagPerf's and timm's published training speeds. The tables are shipped.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/commands/validate.hpp"
#include "calibration/validation_figures.hpp"
#include "calibration/validation_text.hpp"

namespace lockstep {
namespace {

Validation predicted(const char* set) {
  Validation validation = validate_set(set, ConfigPath::standard(), {});
  fmt::print("{}", validation_text(validation));
  return validation;
}

TEST(FlagPerf, DataParallelModelsArePredicted) {
  const Validation validation = predicted("flagperf_pytorch");
  EXPECT_EQ(validation.points.size(), 11U);
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean, 0.12);
}

TEST(FlagPerf, PlansArePredicted) {
  const Validation validation = predicted("flagperf_megatron");
  EXPECT_EQ(validation.points.size(), 22U);
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean, 0.12);
}

TEST(FlagPerf, HuggingFacesLlamaIsPredicted) {
  const Validation validation = predicted("flagperf_llama");
  EXPECT_EQ(validation.points.size(), 4U);
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean, 0.05);
}

TEST(Timm, ConvolutionalNetworksArePredictedInBothLayouts) {
  const Validation validation = predicted("timm_rtx3090");
  EXPECT_EQ(validation.points.size(), 42U);  // 7 networks x 2 layouts x 3 releases of PyTorch
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean, 0.16);
}

}  // namespace
}  // namespace lockstep
