#include "calibration/step_band.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "calibration/band.hpp"

namespace lockstep {
namespace {

PathPrediction prediction(const std::string& family, double seconds, double band,
                          Provenance provenance = Provenance::Fitted) {
  return {family, seconds, band, provenance};
}

TEST(StepBand, OfOnePredictionIsItsOwn) {
  const std::vector one{prediction("gemm", 2, 0.1)};
  // c^2 (2 x 0.1)^2 + (1 - c^2) (2 x 0.1)^2 = 0.2^2, whatever c is; 0.2 of 2 s.
  for (const double common : {0.0, 0.75, 1.0}) {
    EXPECT_NEAR(step_band(one, common).relative, 0.1, 1e-12);
  }
}

TEST(StepBand, ErrorsOfAFamilyThatGoTogetherAddUp) {
  const std::vector four(4, prediction("gemm", 1, 0.2));
  EXPECT_NEAR(step_band(four, 1).relative, 0.2, 1e-12);  // 4 x 0.2 of 4 s
}

TEST(StepBand, IndependentErrorsCancel) {
  const std::vector four(4, prediction("gemm", 1, 0.2));
  EXPECT_NEAR(step_band(four, 0).relative, 0.1, 1e-12);  // sqrt(4) x 0.2 of 4 s
}

TEST(StepBand, APartOfTheVarianceIsCommon) {
  const std::vector four(4, prediction("gemm", 1, 0.2));
  // c^2 = 0.36: sqrt(0.36 x 0.8^2 + 0.64 x 0.4^2) = sqrt(0.2304 + 0.1024), of 4 s
  EXPECT_NEAR(step_band(four, 0.6).relative, std::sqrt(0.3328) / 4, 1e-12);
}

TEST(StepBand, FamiliesAreIndependent) {
  const std::vector both{prediction("gemm", 1, 0.3), prediction("ring Simple", 1, 0.4)};
  const StepBand band = step_band(both, 1);
  EXPECT_NEAR(band.relative, 0.25, 1e-12);  // sqrt(0.3^2 + 0.4^2) of 2 s
  ASSERT_EQ(band.families.size(), 2U);
  EXPECT_EQ(band.families[0].family, "ring Simple");  // the wider first
  EXPECT_NEAR(band.families[0].half_width, 0.4, 1e-12);
}

TEST(StepBand, WhatHasNoErrorOnlyDilutes) {
  const std::vector both{prediction("gemm", 1, 0.3), prediction("timed", 2, 0, Provenance::Measured)};
  EXPECT_NEAR(step_band(both).relative, 0.1, 1e-12);
}

TEST(StepBand, TellsWhatTheStepRestsOn) {
  const std::vector all{prediction("gemm", 3, 0.1, Provenance::Fitted),
                        prediction("gemm", 1, 0.2, Provenance::Derived),
                        prediction("host", 4, 0.3, Provenance::Measured)};
  const StepBand band = step_band(all);
  EXPECT_DOUBLE_EQ(band.seconds, 8);
  EXPECT_EQ(band.by_provenance, (SecondsByProvenance{4, 3, 1, 0}));
  EXPECT_EQ(band.families[1].family, "gemm");
  EXPECT_EQ(band.families[1].by_provenance, (SecondsByProvenance{0, 3, 1, 0}));
}

TEST(StepBand, OfNothingIsNone) {
  EXPECT_EQ(step_band({}).relative, 0);
  EXPECT_THROW(static_cast<void>(step_band({}, 1.5)), std::invalid_argument);
}

/// Omitted work makes steps longer than predicted, not shorter.
TEST(StepBand, ReachesFurtherToSlowerSteps) {
  for (const double relative : {0.0, 0.05, 0.3, 1.0}) {
    const Band around = calibrated(relative);
    EXPECT_GT(around.slower, around.faster);
    EXPECT_LT(around.faster, 1);  // no step takes no time
    EXPECT_GE(around.slower, relative);
  }
}

TEST(StepBand, GrowsWithTheErrorsOfThePieces) {
  EXPECT_GT(calibrated(0.3).slower, 2 * calibrated(0.1).slower);
  EXPECT_GT(calibrated(0.3).faster, calibrated(0.1).faster);
}

/// Twice the error far beyond what is left out, twice the band.
TEST(StepBand, IsInProportionWherePiecesDecide) {
  EXPECT_NEAR(calibrated(20).slower / calibrated(10).slower, 2, 1e-3);
}

/// Work that is known to be left out moves the slower side alone: 1.73 times it, where nothing else is
/// uncertain.
TEST(StepBand, KnownOmissionsMakeItSlowerAlone) {
  EXPECT_EQ(calibrated(0.2, 1, 0.85).faster, calibrated(0.2).faster);
  EXPECT_GT(calibrated(0.2, 1, 0.85).slower, calibrated(0.2).slower);
  EXPECT_NEAR(calibrated(0, 0, 0.85).slower, 1.4705, 1e-9);
  EXPECT_EQ(calibrated(0, 0, 0.85).faster, 0);
}

TEST(StepBand, WhatWasRecordedLeavesNothingOut) {
  EXPECT_EQ(calibrated(0, 0), (Band{0, 0}));
  const std::vector recorded{prediction("host as recorded", 1, 0, Provenance::Measured)};
  EXPECT_EQ(around(step_band(recorded)), (Band{0, 0}));
}

TEST(Band, OfAKernelAloneIsHalfAsWideAgainOnTheSlowerSide) {
  EXPECT_EQ(band_alone(0.25), (Band{0.25, 0.375}));
}

TEST(Band, HoldsWhatLiesInside) {
  const Band band{0.1, 0.3};
  EXPECT_TRUE(band.holds(0.29));
  EXPECT_FALSE(band.holds(0.31));
  EXPECT_TRUE(band.holds(-0.09));
  EXPECT_FALSE(band.holds(-0.11));
}

}  // namespace
}  // namespace lockstep
