/// @file
/// Schedules held against the steps that they are made of.

#include "schedule/schedule_prediction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>

#include "ops/model_flops.hpp"

namespace lockstep {
namespace {

constexpr const char* kDlrm =
    "name: x\ncluster: dgx_a100 x 1\nworkload: { model: dlrm_default, global_batch: 16384 }\n";
constexpr const char* kGpt =
    "name: x\ncluster: dgx_a100 x 1\n"
    "workload: { model: { from: gpt3_1b3, transformer: { layers: 4 } }, global_batch: 16, precision: bf16 "
    "}\n";

YamlDocument scenario(const std::string& text) {
  return YamlDocument::from_text(text, "scenario.yaml");
}

Timelines nobody() {
  return {[](const std::string& /*name*/, const ResolvedScenario& /*resolved*/,
             const std::vector<std::uint32_t>& /*simulated*/) { return TimelineRequest{}; },
          [] {}};
}

SchedulePrediction predicted(const std::string& text) {
  const YamlDocument document = scenario(text);
  const ConfigPath configs = ConfigPath::standard();
  return predict_schedule(scheduled_scenario(document, configs), configs, document, nobody());
}

SchedulePrediction with_schedule(const std::string& base, const std::string& schedule) {
  return predicted(base + "schedule: " + schedule + "\n");
}

double step_of(const std::string& text) {
  return predict(build(scenario(text), ConfigPath::standard()), nullptr, EngineMode::Bare)
      .mean_step()
      .in_base_units();
}

TEST(Schedule, OneFullPhaseIsTheRunToTheLastBit) {
  const SchedulePrediction one =
      with_schedule(kDlrm, "{ steps: 1000, phases: [{ name: full, until: 100 % }] }");
  const ResolvedScenario resolved = build(scenario(kDlrm), ConfigPath::standard());
  const SimulationResult run = predict(resolved, nullptr);
  EXPECT_EQ(one.phases[0].figures.step, run.mean_step().in_base_units());
  EXPECT_EQ(one.totals.seconds, 1000 * run.mean_step().in_base_units());
  EXPECT_EQ(one.phases[0].figures.flops, model_flops(resolved.job).in_base_units());
  EXPECT_EQ(one.totals.time_saved(), 0);
  EXPECT_NEAR(one.time_saved_band, 0, 1e-15);
  for (const double lost : one.lost) EXPECT_EQ(lost, 0);
}

TEST(Schedule, TwoFullPhasesAreTheRunToo) {
  const SchedulePrediction two = with_schedule(
      kDlrm,
      "{ steps: 1000, phases: [{ name: a, until: 30 %, keep: { top_mlp: 1 } }, { name: b, until: 100 % }] }");
  EXPECT_EQ(two.phases[0].steps, 300);
  EXPECT_EQ(two.phases[1].steps, 700);
  EXPECT_EQ(two.transitions[0].seconds, 0);
  EXPECT_EQ(two.phases[0].figures.step, step_of(kDlrm));
  EXPECT_EQ(two.totals.seconds, two.totals.dense_seconds);
}

TEST(Schedule, APhaseIsTheScenarioWithItsWidths) {
  const SchedulePrediction pruned = with_schedule(
      kGpt,
      "{ steps: 1000, phases: [{ name: small, until: 50 %, keep: { layers: 0.5, feed_forward: 0.75 } }, "
      "{ name: full, until: 100 % }] }");
  const std::string by_hand =
      "name: x\ncluster: dgx_a100 x 1\n"
      "workload: { model: { from: gpt3_1b3, transformer: { layers: 2, feed_forward: 6144 } }, global_batch: "
      "16, "
      "precision: bf16 }\n";
  EXPECT_EQ(pruned.phases[0].figures.step, step_of(by_hand));
  EXPECT_EQ(pruned.phases[1].figures.step, step_of(kGpt));
  EXPECT_EQ(pruned.phases[1].figures.memory->used, pruned.full.memory->used);
  EXPECT_LT(pruned.phases[0].figures.memory->used, pruned.full.memory->used);
  EXPECT_GT(pruned.transitions[0].seconds, 0);
}

TEST(Schedule, WhatEatsTheFlopsAddsUp) {
  const SchedulePrediction pruned = with_schedule(
      kDlrm,
      "{ steps: 1000, transition: { warm_up: [1, 0.5] }, phases: [{ name: a, until: 20 %, keep: {} }, "
      "{ name: b, until: 70 %, keep: { top_mlp: 0.5, bottom_mlp: 0.5 } }, { name: c, until: 100 % }] }");
  const double lost = std::accumulate(pruned.lost.begin(), pruned.lost.end(), 0.0) +
                      pruned.lost_to_transitions + pruned.lost_to_warm_up;
  EXPECT_NEAR(pruned.totals.flops_saved() - lost, pruned.totals.time_saved(), 1e-12);
  for (const PredictedPhase& phase : pruned.phases) {
    double beyond = 0;
    for (const Loss& loss : phase.losses) beyond += loss.seconds;
    EXPECT_NEAR(beyond, phase.figures.step - pruned.full.step * phase.figures.flops / pruned.full.flops,
                1e-12 * pruned.full.step);
  }
  EXPECT_LT(pruned.totals.time_saved(), pruned.totals.flops_saved());
}

TEST(Schedule, ZerosWithoutStructureSaveNoTime) {
  const SchedulePrediction masked = with_schedule(kGpt,
                                                  "{ steps: 100, phases: [{ name: masked, until: 50 %, mask: "
                                                  "{ zeros: 0.9 } }, { name: full, until: 100 % "
                                                  "}] }");
  EXPECT_LT(masked.totals.time_saved(), 0);
  EXPECT_EQ(masked.totals.flops_saved(), 0);
  EXPECT_GT(masked.phases[0].figures.step, masked.full.step);
}

TEST(Schedule, ErrorsThatPhasesShareCancel) {
  const SchedulePrediction pruned = with_schedule(
      kGpt,
      "{ steps: 1000, phases: [{ name: small, until: 50 %, keep: { layers: 0.5 } }, { name: full, until: 100 "
      "% }] }");
  EXPECT_LT(pruned.time_saved_band, 0.5 * pruned.full.band.relative);
}

// 6 N D as papers on growth count: a quarter of the layers for 10 parts, the full model for 194, against 300.
TEST(Schedule, TellsThePapersArithmeticBesideTime) {
  const SchedulePrediction grown = with_schedule(kGpt,
                                                 "{ steps: 2040, dense: { steps: 3000 }, phases: [{ name: "
                                                 "small, until: 100, keep: { layers: 0.25 } }, { "
                                                 "name: full, until: 100 % }] }");
  const double small = grown.phases[0].figures.parameters.value(), full = grown.full.parameters.value();
  const double layer = 12 * 2048.0 * 2048 + 13 * 2048;
  EXPECT_NEAR(full - small, 3 * layer, 1);
  EXPECT_NEAR(grown.saved_6nd.value(), 1 - (100 * small + 1940 * full) / (3000 * full), 1e-12);
  EXPECT_TRUE(grown.dense_is_longer);
  EXPECT_NEAR(grown.totals.dense_seconds, 3000 * grown.full.step, 1e-9);
}

TEST(Schedule, SamplesAndTokensGiveTheSteps) {
  const SchedulePrediction tokens = with_schedule(kGpt,
                                                  "{ tokens: 32768000, phases: [{ name: short, until: 25 %, "
                                                  "sequence: 1024 }, { name: full, until: 100 % }] "
                                                  "}");
  EXPECT_EQ(tokens.phases[0].steps, 500);  // a quarter of 32.768 million, 16 x 1024 a step
  EXPECT_EQ(tokens.phases[1].steps, 750);
  EXPECT_EQ(tokens.dense.steps, 1000);
  const SchedulePrediction samples = with_schedule(
      kGpt,
      "{ samples: 16000, phases: [{ name: large, until: 50 %, batch: 32 }, { name: full, until: 100 % }] }");
  EXPECT_EQ(samples.phases[0].steps, 250);
  EXPECT_EQ(samples.phases[1].steps, 500);
}

/// Seconds of a transition that only gathers @p shared bytes over eight GPUs that exchange at their links'
/// rate.
double seconds_of_gather(double shared) {
  ResolvedScenario resolved = build(
      scenario("name: x\ncluster: dgx_a100 x 1\ncollectives: { profile: ideal }\nworkload: { model: gpt2, "
               "global_batch: 64 }\n"),
      ConfigPath::standard());
  TransitionWork work;
  work.shared = shared;
  work.share = 8;
  resolved.job = transition_job(work, {}, resolved.job, resolved.host, replica_groups(resolved.job));
  return predict(resolved, nullptr, EngineMode::Bare).makespan().in_base_units();
}

// A ring over eight A100 with 12 NVLink 3 each: 7/8 of the buffer passes each GPU at 12 x 25 GB/s x 0.9412.
TEST(Transition, GathersAtTheRateOfTheLinks) {
  const double more = seconds_of_gather(9e9) - seconds_of_gather(1e9);
  EXPECT_NEAR(more, 8e9 * 7 / 8 / (12 * 25e9 * 0.9412), 1e-9);
}

TEST(Transition, RowsMoveWhereTablesArePlacedAnew) {
  const std::string kept =
      "{ steps: 100, phases: [{ name: a, until: 50 %, keep: { embedding_rows: 0.5 } }, { name: b, until: 100 "
      "% }]";
  const SchedulePrediction stays = with_schedule(kDlrm, kept + " }");
  EXPECT_EQ(step_of(stays.phases[0].scenario), stays.phases[0].figures.step);
  EXPECT_TRUE(stays.transitions[0].work.moved.empty());
  EXPECT_FALSE(stays.transitions[0].work.tables.empty());
}

// dlrm_default has eight tables of 1,000,000 rows of 64 floats, one a GPU: 256 MB each, written and read at 1
// GB/s.
TEST(Transition, ACheckpointHoldsTheTablesToo) {
  const std::string phases =
      "phases: [{ name: a, until: 50 %, keep: { top_mlp: 0.5 } }, { name: b, until: 100 % }]";
  const SchedulePrediction local =
      with_schedule(kDlrm, "{ steps: 100, transition: { checkpoint: local }, " + phases + " }");
  const TransitionWork& work = local.transitions[0].work;
  EXPECT_NEAR(work.written, 256e6, 20e6);
  EXPECT_NEAR(local.transitions[0].waits.files.in_base_units(), (work.written + work.read) / 1e9, 1e-12);
  EXPECT_GT(local.transitions[0].seconds, local.transitions[0].waits.files.in_base_units());
}

// A GPU that works takes 300 W, one that rests 100 W.
TEST(Schedule, EnergyIsThatOfBusyAndIdleGpus) {
  const std::string phases = "phases: [{ name: a, until: 100 % }]";
  const SchedulePrediction measured =
      with_schedule(kDlrm, "{ steps: 1000, power: { busy: 300 W, idle: 100 W }, " + phases + " }");
  EXPECT_NEAR(measured.energy.value(), 8 * measured.totals.seconds * (100 + 200 * measured.full.busy), 1e-6);
  EXPECT_FALSE(measured.guessed_power.has_value());
  const SchedulePrediction guessed = with_schedule(kDlrm, "{ steps: 1000, " + phases + " }");
  EXPECT_DOUBLE_EQ(guessed.guessed_power.value().busy.watts, 0.85 * 400);  // an A100 in SXM has 400 W
}

TEST(Campaign, OfAFullTrainingIsItsStepsWithFailures) {
  const SchedulePrediction campaign = predicted(std::string{kGpt} +
                                                "campaign: { length: { steps: 100000 }, checkpoint: { write: "
                                                "10 s }, failures: { mtbf_per_node: 100 h, restart: "
                                                "5 min }, recurring: { steps: 1000, times: 3 } }\n");
  ASSERT_TRUE(campaign.campaign.has_value());
  const CampaignPrediction& whole = *campaign.campaign;
  EXPECT_EQ(whole.task.work, 100000 * campaign.full.step);
  EXPECT_NEAR(whole.task.rate, 1 / 360000.0, 1e-18);  // one node
  EXPECT_TRUE(whole.is_interval_chosen);
  EXPECT_EQ(whole.times.expected, whole.dense.expected);
  EXPECT_DOUBLE_EQ(whole.recurring, 3000 * campaign.full.step);
  EXPECT_NEAR(whole.drawn.mean, whole.times.expected, 5 * whole.drawn.error);
}

}  // namespace
}  // namespace lockstep
