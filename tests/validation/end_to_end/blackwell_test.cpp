// B200, GB200 and H200 against others' measurements of kernels and collectives, all shipped:
// docs/validation/blackwell.md.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/commands/validate.hpp"
#include "calibration/validation_figures.hpp"
#include "calibration/validation_text.hpp"
#include "scenario/row_predictions.hpp"

namespace lockstep {
namespace {

Validation blackwell(const std::string& set) {
  const Validation validation =
      validate_set(set, ConfigPath::standard(), {.data = "nowhere", .every = 1, .jobs = 2});
  fmt::print("{}", validation_text(validation));
  return validation;
}

ErrorSummary of(const Validation& validation, ComparedQuantity quantity, std::string_view column,
                std::string_view cell) {
  for (const ErrorLine& line : error_lines(validation, quantity)) {
    if (line.column == column && line.cell == cell) return line.ours;
  }
  ADD_FAILURE() << "no row with " << column << ' ' << cell;
  return {};
}

TEST(Blackwell, ProductsAreAsFastAsMeasured) {
  const Validation validation = blackwell("kernels_blackwell_products");
  EXPECT_EQ(validation.points.size(), 55U);
  EXPECT_LT(of(validation, ComparedQuantity::Kernel, "part", "fitted").geometric_mean, 0.03);
  EXPECT_LT(of(validation, ComparedQuantity::Kernel, "gpu", "gb200_186gb").mean, 0.13);  // held out
}

TEST(Blackwell, AttentionIsAsFastAsMeasured) {
  const Validation validation = blackwell("kernels_blackwell_attention");
  EXPECT_EQ(validation.points.size(), 104U);
  EXPECT_LT(of(validation, ComparedQuantity::Kernel, "part", "fitted").geometric_mean, 0.015);
  EXPECT_LT(of(validation, ComparedQuantity::Kernel, "part", "held_out").largest, 0.3);
}

TEST(Blackwell, CollectivesAreAsFastAsMeasuredButInARack) {
  const Validation validation = blackwell("collectives_blackwell");
  EXPECT_LT(of(validation, ComparedQuantity::Collective, "system", "8 H200 (Azure)").largest, 0.1);
  EXPECT_LT(of(validation, ComparedQuantity::Collective, "system", "B200 (slinky)").largest, 0.05);
  EXPECT_LT(of(validation, ComparedQuantity::Collective, "system", "72 GB200 (CoreWeave)").bias, -0.15);
}

}  // namespace
}  // namespace lockstep
