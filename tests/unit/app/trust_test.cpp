#include "scenario/trust.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "app/report.hpp"
#include "app/trace_conversion.hpp"
#include "calibration/band.hpp"
#include "scenario/replay_run.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Simulated {
  ResolvedScenario resolved;
  SimulationResult result;
};

Simulated gpt2_on(const std::string& gpu) {
  ResolvedScenario resolved = build(
      YamlDocument::from_text("name: x\ncluster: single_h100 x 1\ngpu: " + gpu +
                                  "\nworkload: { model: gpt2, global_batch: 8, precision: bf16 }\nsteps: 1\n",
                              "scenario.yaml"),
      ConfigPath::standard());
  SimulationResult result = predict(resolved, nullptr, EngineMode::Bare);
  return {std::move(resolved), std::move(result)};
}

double share_of(const StepBand& band, Provenance provenance) {
  return band.by_provenance[static_cast<std::size_t>(provenance)] / band.seconds;
}

TEST(Trust, AGpuWithoutMeasuredKernelsIsMarkedInTheAnswer) {
  const Simulated pcie = gpt2_on("h100_80gb_pcie");
  EXPECT_EQ(provenance_of(pcie.resolved.gpu_models.front()), Provenance::Derived);
  EXPECT_THAT(report(pcie.resolved, pcie.result), HasSubstr("1 rank on h100_80gb_pcie (derived), "));
  EXPECT_GT(share_of(step_band(pcie.resolved, pcie.result), Provenance::Derived), 0.5);

  const Simulated h100 = gpt2_on("h100_80gb");
  EXPECT_THAT(report(h100.resolved, h100.result), HasSubstr("1 rank on h100_80gb, "));
  EXPECT_GT(share_of(step_band(h100.resolved, h100.result), Provenance::Fitted), 0.3);
  EXPECT_GT(step_band(pcie.resolved, pcie.result).relative, step_band(h100.resolved, h100.result).relative);
}

TEST(Trust, AGpuWithOtherNumbersIsNoLongerTheMeasuredOne) {
  const Simulated slower = gpt2_on("{ from: h100_80gb, memory_bandwidth: 2 TB/s }");
  EXPECT_THAT(report(slower.resolved, slower.result), HasSubstr("1 rank on h100_80gb (derived), "));
  EXPECT_LT(share_of(step_band(slower.resolved, slower.result), Provenance::Fitted), 0.1);
  const Simulated cited = gpt2_on(
      "{ from: h100_80gb, memory_bandwidth: 2 TB/s, provenance: { memory_bandwidth: \"measured, a sheet\" } "
      "}");
  EXPECT_THAT(report(cited.resolved, cited.result), HasSubstr("1 rank on h100_80gb, "));
}

Simulated dlrm_by(const std::string& implementation) {
  ResolvedScenario resolved =
      build(YamlDocument::from_text("name: x\ncluster: dgx_a100 x 1\n"
                                    "workload:\n  model: { from: dlrm_default, dlrm: { implementation: " +
                                        implementation + " } }\n  global_batch: 2048\nsteps: 1\n",
                                    "scenario.yaml"),
            ConfigPath::standard());
  SimulationResult result = predict(resolved, nullptr, EngineMode::Bare);
  return {std::move(resolved), std::move(result)};
}

TEST(Trust, LoopsThatAreNotWrittenHaveAWiderSlowerSide) {
  const Simulated pytorch = dlrm_by("pytorch");
  const Band usual = around(step_band(pytorch.resolved, pytorch.result));
  EXPECT_EQ(omitted_work(pytorch.resolved.scenario).what, "");
  for (const char* const implementation : {"torchrec", "tensorflow"}) {
    const Simulated other = dlrm_by(implementation);
    const Band band = around(step_band(other.resolved, other.result));
    EXPECT_EQ(other.result.mean_step(), pytorch.result.mean_step()) << implementation;
    EXPECT_EQ(band.faster, usual.faster) << implementation;
    EXPECT_GT(band.slower, 1.45) << implementation;
    EXPECT_NE(omitted_work(other.resolved.scenario).what, "") << implementation;
  }
}

TEST(Trust, NetworksThatDoNotAnswerAreTold) {
  const std::string derived = "provenance: { efficiency: \"derived, a relative's\" }";
  const Simulated as_it_is = gpt2_on("{ from: a100_80gb, " + derived + " }");
  EXPECT_THAT(report(as_it_is.resolved, as_it_is.result), Not(HasSubstr("networks")));
  const Simulated changed = gpt2_on("{ from: a100_80gb, memory_bandwidth: 1 TB/s, " + derived + " }");
  EXPECT_THAT(report(changed.resolved, changed.result),
              HasSubstr("a100_80gb's networks do not answer, since guessed: memory_bandwidth (set at "));
}

TEST(Trust, TheBandIsThatOfTheWholeStep) {
  const Simulated run = gpt2_on("h100_80gb");
  const StepBand band = step_band(run.resolved, run.result);
  // One step: its critical path begins with it and ends with it.
  EXPECT_NEAR(band.seconds, run.result.step_ends.back(), 1e-6 * band.seconds);
  EXPECT_NEAR(std::accumulate(band.by_provenance.begin(), band.by_provenance.end(), 0.0), band.seconds,
              1e-9 * band.seconds);
}

/// A profile as Chakra traces: what the host took was measured, on whatever host the scenario names.
TEST(Trust, WhatWasRecordedIsMeasured) {
  const test::ScratchFolder folder;
  folder.write("r0.json", testing::KinetoText{}
                              .op("aten::mm", 0, 30)
                              .call("cudaLaunchKernel", 10, 5, 1)
                              .kernel("gemm", 20, 50, 7, 1)
                              .call("cudaDeviceSynchronize", 40, 40)
                              .text());
  const ReplayRun replay{
      {(folder / "r0.json").string()}, YamlDocument::from_text("{}", "edits"), ConfigPath::standard()};
  (void)convert(replay.replay(), {}, {folder / "traces", ""});
  Simulated run{build(YamlDocument::from_file(folder / "traces/scenario.yaml"),
                      ConfigPath::standard().beside(folder / "traces")),
                {}};
  run.result = predict(run.resolved, nullptr, EngineMode::Bare);
  const StepBand band = step_band(run.resolved, run.result);
  EXPECT_NEAR(share_of(band, Provenance::Measured), 1, 1e-9);
  EXPECT_EQ(band.relative, 0);
  EXPECT_THAT(trust_lines(band), HasSubstr("host as recorded"));
  run.result.critical_path.clear();
  EXPECT_NEAR(share_of(step_band(run.resolved, run.result), Provenance::Measured), 1, 1e-9);
}

TEST(Trust, WithoutACriticalPathThePartsOfARankStandIn) {
  Simulated run = gpt2_on("h100_80gb");
  const StepBand along_path = step_band(run.resolved, run.result);
  run.result.critical_path.clear();
  const StepBand by_parts = step_band(run.resolved, run.result);
  EXPECT_NEAR(by_parts.seconds, along_path.seconds, 1e-6 * along_path.seconds);
  EXPECT_NEAR(by_parts.relative, along_path.relative, 0.5 * along_path.relative);
}

}  // namespace
}  // namespace lockstep
