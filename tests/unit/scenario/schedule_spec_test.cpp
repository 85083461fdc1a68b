#include "scenario/schedule_spec.hpp"

#include <gmock/gmock.h>

#include "base/yaml_reader.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

ScheduleSpec schedule(const std::string& text) {
  return read_text<ScheduleSpec>(text, "schedule.yaml");
}

std::string complaint(const std::string& text) {
  try {
    (void)schedule(text);
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "";
}

TEST(ScheduleSpec, PhasesEndAtSharesOrNumbers) {
  const auto phases =
      planned_phases(schedule("steps: 5000\nphases: [{ name: a, until: 20 % }, { name: b, until: 2500 }, { "
                              "name: c, until: 100 % }]\n"));
  EXPECT_DOUBLE_EQ(phases[0].until, 0.2);
  EXPECT_DOUBLE_EQ(phases[1].from, 0.2);
  EXPECT_DOUBLE_EQ(phases[1].until, 0.5);
  EXPECT_EQ(phases[2].until, 1);
}

TEST(ScheduleSpec, AlternationStandsForPhasesThatTakeTurns) {
  const auto phases = planned_phases(
      schedule("steps: 100\nalternate: { every: 25 %, between: [{ top_mlp: 0.5 }, {}], round: 8 }\n"));
  ASSERT_EQ(phases.size(), 4U);
  EXPECT_EQ(phases[0].spec.name, "1: top_mlp 50 %");
  EXPECT_EQ(phases[3].spec.name, "4: full");
  EXPECT_EQ(phases[2].spec.keep.at(LayerGroup::TopMlp), 0.5);
  EXPECT_EQ(phases[2].spec.round, 8);
  EXPECT_DOUBLE_EQ(phases[2].from, 0.5);
}

TEST(ScheduleSpec, TheLastPhaseIsFullUnlessASmallEndIsAllowed) {
  const std::string small = "steps: 100\nphases: [{ name: a, until: 100 %, keep: { hidden: 0.5 } }]\n";
  EXPECT_THAT(complaint(small),
              HasSubstr("schedule.yaml:2:41: phases.0.keep: the last phase ('a') does not train the "
                        "full model: its 'keep' is all, or say allow_small_end: true"));
  EXPECT_EQ(complaint(small + "allow_small_end: true\n"), "");
  EXPECT_THAT(complaint("steps: 100\nalternate: { every: 50 %, between: [{}, { hidden: 0.5 }] }\n"),
              HasSubstr("the last phase"));
}

TEST(ScheduleSpec, WhatCannotBeIsTold) {
  EXPECT_THAT(complaint("phases: [{ name: a, until: 100 % }]\n"), HasSubstr("how long is the training?"));
  EXPECT_THAT(complaint("steps: 5\nsamples: 7\nphases: [{ name: a, until: 100 % }]\n"),
              HasSubstr("as one of"));
  EXPECT_THAT(complaint("steps: 5\n"), HasSubstr("a schedule has phases, or alternate"));
  EXPECT_THAT(complaint("steps: 5\nphases: [{ name: a, until: 50 % }, { name: a, until: 100 % }]\n"),
              HasSubstr("two phases are called 'a'"));
  EXPECT_THAT(complaint("steps: 5\nphases: [{ name: a, until: 50 % }, { name: b, until: 40 % }]\n"),
              HasSubstr("it ends later than 50 %"));
  EXPECT_THAT(complaint("steps: 5\nphases: [{ name: a, until: 90 % }]\n"),
              HasSubstr("the phases end at 90 % of the training: the last one's 'until' is 100 %"));
  EXPECT_THAT(complaint("steps: 5\nalternate: { every: 30 %, between: [{}, {}] }\n"),
              HasSubstr("do not fill"));
  EXPECT_THAT(complaint("steps: 5\nphases: [{ name: a, until: 100 %, mask: { zeros: 1 } }]\n"),
              HasSubstr("at least 0, below 1"));
}

TEST(Watts, HaveTheirUnit) {
  EXPECT_EQ(Watts::parse("350 W").watts, 350);
  EXPECT_EQ(Watts::parse("0.7 kW").watts, 700);
  EXPECT_THROW((void)Watts::parse("350"), std::invalid_argument);
  EXPECT_THAT(complaint("steps: 5\nphases: [{ name: a, until: 100 % }]\npower: { busy: 10 W, idle: 20 W }\n"),
              HasSubstr("a busy GPU takes at least what an idle one does"));
}

TEST(TransitionCheckpoint, IsNoneLocalOrABandwidth) {
  EXPECT_FALSE(TransitionCheckpoint::parse("none").bandwidth.has_value());
  EXPECT_EQ(TransitionCheckpoint::parse("local").bandwidth, BytesPerSecond{1e9});
  EXPECT_THROW((void)TransitionCheckpoint::parse("disk"), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
