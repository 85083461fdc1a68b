#include "calibration/hosts/host_machine.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(HostMachine, OfTheKnownCoreIsTheMiddleOfKnownMachines) {
  const HostSpeed speed = expected_speed({});
  EXPECT_DOUBLE_EQ(speed.native, 1.2);
  EXPECT_DOUBLE_EQ(speed.python, 1.2);
}

TEST(HostMachine, AVirtualOneIsAsTheVirtualOnesThatAreKnown) {
  HostMachine machine;
  machine.is_virtual = true;
  EXPECT_DOUBLE_EQ(expected_speed(machine).native, 0.9);
  EXPECT_LT(expected_speed(machine).machines, expected_speed({}).machines);
}

TEST(HostMachine, TimesGoWithTheClock) {
  EXPECT_NEAR(expected_speed({.clock_ghz = 1.9}).native, 0.6, 1e-9);  // half of 3.8 GHz
}

/// Sapphire Rapids does 1.10 x 1.18 x 1.19 of Broadwell's work a clock, at 3.8 in place of 3.6 GHz.
TEST(HostMachine, CoresGoWithTheirWorkPerClock) {
  const double broadwell = expected_speed({.cpu = CpuCore::Broadwell}).native;
  EXPECT_NEAR(1.2 / broadwell, 1.10 * 1.18 * 1.19 * 3.8 / 3.6, 1e-9);
}

/// Of what the known machines run, 3.12, 3.10 has neither 3.11's 25 % nor 3.12's 5 %.
TEST(HostMachine, PythonsVersionIsOfTheInterpreterAlone) {
  const HostSpeed old = expected_speed({.python = PythonVersion::V310});
  EXPECT_DOUBLE_EQ(old.native, 1.2);
  EXPECT_NEAR(old.python, 1.2 / (1.25 * 1.05), 1e-9);
}

/// The machine that was traced, taken as Milan at its usual clock, has speed 1 by definition.
TEST(HostMachine, TheTracedServerIsWithinTheSpread) {
  EXPECT_NEAR(expected_speed({.cpu = CpuCore::Milan}).native, 1, 0.33);
}

}  // namespace
}  // namespace lockstep
