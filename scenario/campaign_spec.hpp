#pragma once

/// @file
/// `campaign:` of a scenario: a whole training with its checkpoints and failures (docs/schedules.md).

#include <optional>

#include "scenario/schedule_spec.hpp"

namespace lockstep {

/// Checkpoints while nothing else goes on.
struct CampaignCheckpoint {
  Seconds write;
  std::optional<Seconds> every;

  template <class Visitor>
  static void describe(Visitor& key, CampaignCheckpoint& checkpoint) {
    key.required("write", checkpoint.write, "that training stands still for one, e.g. 30 s");
    key.optional("every", checkpoint.every, std::nullopt,
                 "training time between two, e.g. 30 min; left out: Daly's optimum");
  }
  void check() const;
};

struct CampaignFailures {
  Seconds mtbf_per_node;
  Seconds restart;

  template <class Visitor>
  static void describe(Visitor& key, CampaignFailures& failures) {
    key.required("mtbf_per_node", failures.mtbf_per_node,
                 "mean time between failures that stop the job, of one node, e.g. 4000 h");
    key.required("restart", failures.restart,
                 "from a failure until training goes on from the last checkpoint, e.g. 10 min");
  }
  void check() const;
};

/// Training that goes on with new data, at full size.
struct RecurringTraining {
  double steps = 0;
  double times = 1;

  template <class Visitor>
  static void describe(Visitor& key, RecurringTraining& recurring) {
    key.required("steps", recurring.steps, "of the full model, each time");
    key.optional("times", recurring.times, 1, "how often, e.g. 30 for a month of days");
  }
  void check() const;
};

struct CampaignSpec {
  std::optional<TrainingLengthSpec> length;
  std::optional<CampaignCheckpoint> checkpoint;
  std::optional<CampaignFailures> failures;
  std::optional<RecurringTraining> recurring;
  int trials = 2000;

  template <class Visitor>
  static void describe(Visitor& key, CampaignSpec& campaign) {
    key.optional("length", campaign.length, std::nullopt,
                 "of a training without a schedule, e.g. { tokens: 300e9 }; else the schedule says it");
    key.optional("checkpoint", campaign.checkpoint, std::nullopt, "left out: none is written");
    key.optional("failures", campaign.failures, std::nullopt, "left out: nothing fails");
    key.optional("recurring", campaign.recurring, std::nullopt,
                 "steps of the full model behind the training, which no schedule shortens");
    key.optional("trials", campaign.trials, 2000, "campaigns drawn, for the spread of their days");
  }
  void check() const;
};

}  // namespace lockstep
