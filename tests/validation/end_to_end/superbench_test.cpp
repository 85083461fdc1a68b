// Predicted against measured: BERT, GPT-2 and ResNets with PyTorch's data parallelism. The table is shipped.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/commands/validate.hpp"
#include "calibration/validation_figures.hpp"
#include "calibration/validation_text.hpp"

namespace lockstep {
namespace {

double geometric_error(const char* set, std::size_t points) {
  const Validation validation = validate_set(set, ConfigPath::standard(), {});
  fmt::print("{}", validation_text(validation));
  EXPECT_EQ(validation.points.size(), points);
  return error_lines(validation, ComparedQuantity::Step).back().ours.geometric_mean;
}

TEST(SuperBench, TransformersArePredictedOnEveryMachine) {
  EXPECT_LT(geometric_error("superbench_transformers", 22), 0.08);
}

TEST(SuperBench, ResNetsArePredictedOnEveryMachine) {
  EXPECT_LT(geometric_error("superbench_resnet", 9), 0.16);
}

}  // namespace
}  // namespace lockstep
