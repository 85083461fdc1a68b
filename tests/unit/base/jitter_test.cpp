#include "base/jitter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "base/portable_math.hpp"
#include "base/random.hpp"
#include "base/yaml_reader.hpp"

namespace lockstep {

void PrintTo(const JitterSpec& jitter, std::ostream* out) {
  *out << name_of(jitter.distribution) << " " << jitter.variation;
}

namespace {

TEST(PortableMath, AgreesWithTheCLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 7.7) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-14 * (1 + std::abs(std::log(x))));
  }
  for (double x = -600; x < 600; x += 1.37) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-12);
  }
}

TEST(PortableMath, NormalQuantileInvertsTheErrorFunction) {
  for (const double p : {1e-30, 1e-10, 0.001, 0.05, 0.2, 0.5, 0.7, 0.99, 0.99999}) {
    const double back = 0.5 * std::erfc(-normal_quantile(p) / std::sqrt(2.0));
    EXPECT_NEAR(back / p, 1, 1e-13) << p;
  }
}

class Jitters : public ::testing::TestWithParam<JitterSpec> {};

TEST_P(Jitters, HaveMeanOneAndTheirVariation) {
  // n draws: the mean's standard deviation is v / sqrt(n). The sample deviation of n draws has relative
  // standard deviation sqrt((kurtosis - 1) / (4 n)): below 0.6 % for the heaviest tail here (a lognormal of v
  // = 0.5, cut at 3.7 sigma: kurtosis below 9). Five of each.
  const Jitter jitter{GetParam()};
  const Random random{3, "jitter"};
  const double v = GetParam().variation;
  constexpr int kDraws = 100'000;
  double sum = 0;
  double squares = 0;
  double least = 1e9;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double factor = jitter.factor(static_cast<std::uint32_t>(random.bits(i)));
    least = std::min(least, factor);
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 1, 5 * v / std::sqrt(kDraws));
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), v, 0.03 * v);
  EXPECT_GT(least, 0);
}

INSTANTIATE_TEST_SUITE_P(Distributions, Jitters,
                         ::testing::Values(JitterSpec{Distribution::Uniform, 0.3},
                                           JitterSpec{Distribution::Normal, 0.25},
                                           JitterSpec{Distribution::Lognormal, 0.05},
                                           JitterSpec{Distribution::Lognormal, 0.5},
                                           JitterSpec{Distribution::Exponential, 0.2}));

TEST(Jitter, WithoutDistributionIsOne) {
  const Jitter jitter{JitterSpec{}};
  EXPECT_FALSE(jitter.varies());
  EXPECT_EQ(jitter.factor(0), 1.0);
  EXPECT_EQ(jitter.factor(0xffffffff), 1.0);
}

TEST(Jitter, LognormalIsSkewedToTheRight) {
  // The median of a lognormal of variation v is 1 / sqrt(1 + v^2): 0.894 for v = 0.5.
  const Jitter jitter{JitterSpec{Distribution::Lognormal, 0.5}};
  int below = 0;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    below += jitter.factor(i << 20U) < 0.894 ? 1 : 0;
  }
  EXPECT_NEAR(below, 2048, 12);  // cutting the tails moves it by about 0.1 %
}

TEST(JitterSpec, IsReadFromItsShortForm) {
  EXPECT_EQ(JitterSpec::parse("none").distribution, Distribution::None);
  EXPECT_EQ(JitterSpec::parse("lognormal 0.05").variation, 0.05);
}

TEST(JitterSpec, RefusesWhatCannotBe) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      JitterSpec::parse(text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("lognorml 0.1"), "there is no distribution 'lognorml' - did you mean 'lognormal'?");
  EXPECT_EQ(refusal("normal"), "expected a distribution and its variation, e.g. normal 0.05");
  EXPECT_EQ(refusal("normal 0.5"), "0.5 is not possible for the distribution 'normal': expected 0 to 0.25");
  EXPECT_EQ(refusal("uniform -0.1"),
            "-0.1 is not possible for the distribution 'uniform': expected 0 to 0.57");
}

}  // namespace
}  // namespace lockstep
