#include "base/parse_units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

using namespace lockstep::literals;

template <class T>
T parsed(const std::string& text) {
  T value{};
  parse(text, value);
  return value;
}

template <class T>
std::string refusal(const std::string& text) {
  try {
    parsed<T>(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ParseUnits, TimesAreReadFromNanosecondsToHours) {
  EXPECT_EQ(parsed<Seconds>("2.5 us"), 2.5_us);
  EXPECT_EQ(parsed<Seconds>("2.5us"), 2.5_us);
  EXPECT_EQ(parsed<Seconds>("2.5 \u00b5s"), 2.5_us);
  EXPECT_EQ(parsed<Seconds>("3 min"), 180_s);
  EXPECT_EQ(parsed<Seconds>("0"), 0_s);
  EXPECT_EQ(parsed<Seconds>("-1 ns"), Seconds{-1e-9});
}

TEST(ParseUnits, BinaryAndDecimalSizesDiffer) {
  EXPECT_EQ(parsed<Bytes>("1 KiB"), Bytes{1024});
  EXPECT_EQ(parsed<Bytes>("1 kB"), Bytes{1000});
  EXPECT_EQ(parsed<Bytes>("80 GiB"), 80_GiB);
}

TEST(ParseUnits, BitsAndBytesDifferInEverySpelling) {
  EXPECT_EQ(parsed<BytesPerSecond>("400 Gb/s"), 50_GBps);
  EXPECT_EQ(parsed<BytesPerSecond>("400 Gbps"), 50_GBps);
  EXPECT_EQ(parsed<BytesPerSecond>("50 GB/s"), 50_GBps);
  EXPECT_EQ(parsed<BytesPerSecond>("50 GBps"), 50_GBps);
  EXPECT_EQ(parsed<BytesPerSecond>("1 GiB/s"), BytesPerSecond{1073741824});
}

TEST(ParseUnits, SpeedsAndAmountsOfArithmeticAreDifferentThings) {
  EXPECT_EQ(parsed<FlopsPerSecond>("19.5 TFLOPS"), 19.5_TFLOPS);
  EXPECT_EQ(parsed<FlopsPerSecond>("19.5 TFLOP/s"), 19.5_TFLOPS);
  EXPECT_EQ(parsed<Flops>("2 GFLOP"), 2_GFLOP);
  EXPECT_EQ(refusal<Flops>("2 GFLOPS"),
            "'2 GFLOPS' is not an amount of arithmetic: 'GFLOPS' is none of its units "
            "(MFLOP, GFLOP, TFLOP, PFLOP)");
}

TEST(ParseUnits, CaseMattersAndMillibytesDoNotExist) {
  EXPECT_EQ(refusal<Bytes>("25 mB"),
            "'25 mB' is not a size: 'mB' is none of its units (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)");
  EXPECT_EQ(refusal<Seconds>("3"), "'3' is not a time: the unit is missing (s, ms, us, ns, min, h)");
  EXPECT_EQ(refusal<Seconds>("inf s"),
            "'inf s' is not a time: expected a number and one of its units (s, ms, us, ns, min, h)");
}

TEST(ParseUnits, OnlyRatesMayBeUnlimited) {
  const BytesPerSecond rate = parsed<BytesPerSecond>("unlimited");
  EXPECT_EQ(10_GB / rate, 0_s);
  EXPECT_EQ(write_exactly(rate), "unlimited");
  EXPECT_EQ(refusal<Seconds>("unlimited"),
            "'unlimited' is not a time: expected a number and one of its units (s, ms, us, ns, min, h)");
}

TEST(WriteExactly, ChoosesTheUnitThatReadsWell) {
  EXPECT_EQ(write_exactly(40_MiB), "40 MiB");
  EXPECT_EQ(write_exactly(80_GB), "80 GB");
  EXPECT_EQ(write_exactly(400_Gbps), "50 GB/s");
  EXPECT_EQ(write_exactly(2.5_us), "2.5 us");
  EXPECT_EQ(write_exactly(19.5_TFLOPS), "19.5 TFLOPS");
  EXPECT_EQ(write_exactly(0_s), "0 s");
}

/// Doubles of all magnitudes that a simulation can meet, of both signs and 0.
rc::Gen<double> magnitudes() {
  return rc::gen::map(rc::gen::pair(rc::gen::arbitrary<double>(), rc::gen::inRange(-12, 19)),
                      [](const std::pair<double, int>& drawn) {
                        return std::fmod(drawn.first, 10.0) * std::pow(10.0, drawn.second);
                      });
}

template <class T>
void expect_round_trip(double base_units) {
  const T value{base_units};
  RC_ASSERT(parsed<T>(write_exactly(value)) == value);
  const double printed = parsed<T>(to_string(value)).in_base_units();
  RC_ASSERT(std::abs(printed - base_units) <= 1e-3 * std::abs(base_units));  // four significant digits
}

RC_GTEST_PROP(Units, ParseBackFromWhatTheyPrint, ()) {
  const double value = *magnitudes();
  expect_round_trip<Seconds>(value);
  expect_round_trip<Bytes>(value);
  expect_round_trip<BytesPerSecond>(value);
  expect_round_trip<Flops>(value);
  expect_round_trip<FlopsPerSecond>(value);
}

}  // namespace
}  // namespace lockstep
