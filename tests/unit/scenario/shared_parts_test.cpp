#include "scenario/shared_parts.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "scenario/prediction.hpp"
#include "scenario/resolved_scenario.hpp"

namespace lockstep {
namespace {

YamlDocument point(const std::string& cluster, const std::string& more = "") {
  return YamlDocument::from_text("name: a point\ncluster: " + cluster +
                                     "\nworkload: { model: gpt2, global_batch: 64, precision: fp32 }\n" +
                                     more,
                                 "point.yaml");
}

ResolvedScenario built(const YamlDocument& document) {
  return build(document, ConfigPath::standard());
}

void share(const YamlDocument& document, SharedParts parts) {
  share_parts(document, ConfigPath::standard(), parts);
}

bool are_of_one_drawing(const ResolvedScenario& a, const ResolvedScenario& b) {
  return a.fabric.vertices().data() == b.fabric.vertices().data();
}

bool have_one_program(const ResolvedScenario& a, const ResolvedScenario& b) {
  return a.job.programs.front() == b.job.programs.front();
}

std::uint64_t fingerprint_of(const ResolvedScenario& resolved) {
  return predict(resolved, nullptr, EngineMode::Bare).fingerprint;
}

/// GPUs without peer access have their host memory drawn, which is shared as well.
constexpr const char* kWithHostMemory = "workstation_4gpu_pcie";

class SharedPartsTest : public ::testing::Test {
 protected:
  ~SharedPartsTest() override { forget_parts(); }
};

TEST_F(SharedPartsTest, PointsOfOneJobHaveOneMachineAndOneProgram) {
  share(point(kWithHostMemory), SharedParts::MachineAndJob);
  const ResolvedScenario one = built(point(kWithHostMemory, "vary: { seed: 1, kernels: lognormal 0.05 }\n"));
  const ResolvedScenario two = built(point(kWithHostMemory, "collectives: { all_reduce: ring }\n"));
  EXPECT_TRUE(are_of_one_drawing(one, two));
  EXPECT_TRUE(have_one_program(one, two));
  EXPECT_GT(one.fabric.vertices().size(), one.scenario.cluster->fabric().vertices().size());
}

TEST_F(SharedPartsTest, StepsAreOfThePoint) {
  share(point(kWithHostMemory), SharedParts::MachineAndJob);
  EXPECT_EQ(built(point(kWithHostMemory, "steps: 7\n")).job.steps, 7);
}

TEST_F(SharedPartsTest, AnotherWorkloadOrPlanHasProgramsOfItsOwn) {
  share(point("dgx_a100 x 2"), SharedParts::MachineAndJob);
  const ResolvedScenario shared = built(point("dgx_a100 x 2"));
  for (const char* const other : {"parallelism: { bucket: 1 MiB }\n", "host: dgx1v_torchrec\n"}) {
    const ResolvedScenario unlike = built(point("dgx_a100 x 2", other));
    EXPECT_TRUE(are_of_one_drawing(shared, unlike)) << other;
    EXPECT_FALSE(have_one_program(shared, unlike)) << other;
  }
}

TEST_F(SharedPartsTest, AnotherMachineIsDrawn) {
  const std::uint64_t alone = fingerprint_of(built(point("dgx_a100 x 2")));
  share(point("dgx_a100 x 4"), SharedParts::MachineAndJob);
  const ResolvedScenario other = built(point("dgx_a100 x 2"));
  EXPECT_EQ(other.fabric.gpus().size(), 16U);
  EXPECT_EQ(other.job.ranks.size(), 16U);
  EXPECT_EQ(fingerprint_of(other), alone);
}

TEST_F(SharedPartsTest, AnotherLevelOfPeersIsAnotherMachine) {
  share(point("dgx1v"), SharedParts::MachineAndJob);
  const ResolvedScenario near = built(point("dgx1v", "collectives: { p2p_level: LOC }\n"));
  EXPECT_FALSE(are_of_one_drawing(built(point("dgx1v")), near));
}

TEST_F(SharedPartsTest, ResultsAreThoseOfAPointAlone) {
  const std::string varied = "vary: { seed: 3, kernels: lognormal 0.05 }\n";
  const std::uint64_t alone = fingerprint_of(built(point(kWithHostMemory, varied)));
  share(point(kWithHostMemory), SharedParts::MachineAndJob);
  EXPECT_EQ(fingerprint_of(built(point(kWithHostMemory, varied))), alone);
}

TEST_F(SharedPartsTest, OfTheMachineAloneNoProgramIsKept) {
  share(point("dgx_a100 x 2"), SharedParts::MachineAndJob);
  share(point("dgx_a100 x 2"), SharedParts::Machine);
  EXPECT_FALSE(have_one_program(built(point("dgx_a100 x 2")), built(point("dgx_a100 x 2"))));
}

TEST_F(SharedPartsTest, AForgottenJobIsMadeAgain) {
  share(point("dgx_a100 x 2"), SharedParts::MachineAndJob);
  forget_parts();
  EXPECT_FALSE(have_one_program(built(point("dgx_a100 x 2")), built(point("dgx_a100 x 2"))));
}

/// Its own build says why, with the place in its own document.
TEST_F(SharedPartsTest, AScenarioThatCannotBeBuiltIsSaidByItsBuild) {
  const YamlDocument broken = point("dgx_a100 x 2", "parallelism: { ranks: 17 }\n");
  share(broken, SharedParts::MachineAndJob);
  EXPECT_THROW((void)built(broken), InputError);
  EXPECT_EQ(built(point("dgx_a100 x 2")).job.ranks.size(), 16U);
}

}  // namespace
}  // namespace lockstep
