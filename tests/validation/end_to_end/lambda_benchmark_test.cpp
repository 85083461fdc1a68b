// Predicted against measured: BERT and ResNet-50 on 1 to 8 GPUs of twelve kinds. The tables are shipped.

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

TEST(LambdaBenchmark, BertIsPredictedOnEverySystem) {
  const Validation validation = predicted("lambda_bert");
  EXPECT_EQ(validation.points.size(), 180U);  // 45 systems x 2 models x 2 precisions
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean, 0.12);
}

TEST(LambdaBenchmark, ResNetIsPredictedOnEverySystem) {
  const Validation validation = predicted("lambda_resnet50");
  EXPECT_EQ(validation.points.size(), 90U);  // 45 systems x 2 precisions
  EXPECT_LT(error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean, 0.15);
}

}  // namespace
}  // namespace lockstep
