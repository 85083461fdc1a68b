#include "calibration/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace lockstep {
namespace {

TEST(LeastSquares, FindsALine) {
  const auto found = least_squares(
      [](std::span<const double> line) {
        std::vector<double> residuals;
        for (int x = 0; x < 10; ++x) {
          residuals.push_back(line[0] + line[1] * x - (3 - 0.5 * x));
        }
        return residuals;
      },
      {0, 0});
  EXPECT_NEAR(found[0], 3, 1e-6);
  EXPECT_NEAR(found[1], -0.5, 1e-6);
}

TEST(LeastSquares, FollowsACurvedValley) {  // Rosenbrock's function as residuals
  const auto found = least_squares(
      [](std::span<const double> at) {
        return std::vector<double>{10 * (at[1] - at[0] * at[0]), 1 - at[0]};
      },
      {-1.2, 1});
  EXPECT_NEAR(found[0], 1, 1e-4);
  EXPECT_NEAR(found[1], 1, 1e-4);
}

TEST(LeastSquares, MovesAParameterThatIsAlmostZero) {
  // The second does something only once the first has come down, and is then no longer exactly 0.
  const auto found = least_squares(
      [](std::span<const double> at) {
        return std::vector<double>{at[0] + 2, at[0] < -1 ? at[1] - 0.5 : 0.0, 1e-3 * (at[1] - 1e-12)};
      },
      {0, 0});
  EXPECT_NEAR(found[0], -2, 1e-6);
  EXPECT_NEAR(found[1], 0.5, 1e-5);
}

TEST(LeastSquares, NeedsAsManyResidualsAsParameters) {
  EXPECT_THROW((void)least_squares([](std::span<const double>) { return std::vector<double>{1}; }, {0, 0}),
               std::logic_error);
}

TEST(Softened, IsTheResidualNearZeroAndItsRootFarAway) {
  EXPECT_NEAR(softened(1e-3), 1e-3, 1e-8);
  EXPECT_NEAR(softened(-1e6), -std::sqrt(2e6), 1);
}

}  // namespace
}  // namespace lockstep
