#include "calibration/hosts/host_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "calibration/hosts/derived_host.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using namespace lockstep::literals;

HostOverheads traced() {
  return read_file<HostOverheads>(LOCKSTEP_SOURCE_DIR "/configs/hosts/a100_server.yaml",
                                  ConfigPath{{LOCKSTEP_SOURCE_DIR}});
}

HostProbe recorded() {
  return read_file<HostProbe>(LOCKSTEP_SOURCE_DIR "/tests/data/host_probe/emerald_rapids_vm.json");
}

TEST(HostProbe, OfTheReferenceMachineIsThatOfTheVirtualMachines) {
  const ProbedSpeed probed = probed_speed(recorded(), traced());
  EXPECT_NEAR(probed.speed.native, 0.9, 1e-3);
  EXPECT_NEAR(probed.speed.python, 0.9, 1e-3);
  EXPECT_EQ(probed.operators, 0U);
  EXPECT_NEAR(probed.speed.machines, 0.22, 1e-12);
}

TEST(HostProbe, AFasterInterpreterLeavesOperatorsAsTheyAre) {
  HostProbe probe = recorded();
  for (auto& [task, time] : probe.python_ns) time /= 1.25;
  const ProbedSpeed probed = probed_speed(probe, traced());
  EXPECT_NEAR(probed.speed.native, 0.9, 1e-3);
  EXPECT_NEAR(probed.speed.python, 1.125, 1e-3);
}

TEST(HostProbe, SpeedIsTheGeometricMeanOverTasks) {
  HostProbe probe = recorded();
  probe.native_ns.at("sorting") *= 16;  // one of four tasks: 16^(1/4) as slow
  EXPECT_NEAR(probed_speed(probe, traced()).speed.native, 0.45, 1e-3);
}

/// aten::add_ of a100_server: 5.0 between, 2.8 before, 4.0 the launch, 2.0 behind it.
TEST(HostProbe, OperatorsThatPyTorchLaunchedSayMore) {
  HostProbe probe = recorded();
  probe.torch = ProbedOperators{"2.4.0", "H100", {{"aten::add_", 6900}, {"aten::of_nobody", 1}}};
  const ProbedSpeed probed = probed_speed(probe, traced());
  EXPECT_EQ(probed.operators, 1U);
  EXPECT_NEAR(probed.speed.native, 2, 1e-9);
  EXPECT_NEAR(probed.speed.python, 2, 1e-3);
  EXPECT_EQ(probed.speed.machines, 0);
}

TEST(HostProbe, TasksOfAnotherVersionAreRefused) {
  const test::ScratchFolder folder;
  folder.write("old.json", R"({"format": "lockstep-host-probe.1", "cpu": "x", "virtualised": false,
 "python": "3.11", "python_ns": {"loop": 1}, "native_ns": {}})");
  try {
    (void)read_file<HostProbe>(folder / "old.json");
    FAIL();
  } catch (const InputError& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("'attributes' is missing"));
  }
}

TEST(DerivedHost, DividesEachPartByItsSpeed) {
  const test::ScratchFolder folder;
  const HostOverheads start = traced();
  folder.write("mine.yaml", derived_host({"mine", "a CPU", "a rule"}, {2, 4, 0.1, 0.2}, start));
  const auto mine =
      read_file<HostOverheads>(folder / "mine.yaml", ConfigPath{{LOCKSTEP_SOURCE_DIR}}).at_speed();
  EXPECT_NEAR(mine.between_operators / start.between_operators, 0.25, 1e-3);
  EXPECT_NEAR(mine.between_modules() / start.between_modules(), 0.25, 5e-3);
  EXPECT_NEAR(mine.of("aten::add_").before_first_launch / start.of("aten::add_").before_first_launch, 0.5,
              1e-9);
  const Evidence& evidence = evidence_for(mine.provenance, "operators");
  EXPECT_EQ(evidence.is, Provenance::Derived);
  EXPECT_EQ(evidence.error, 0.1);
  EXPECT_EQ(evidence.machines, 0.2);
}

}  // namespace
}  // namespace lockstep
