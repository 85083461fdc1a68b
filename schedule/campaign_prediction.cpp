#include "schedule/campaign_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kMostSegments = 2e7;  // drawn: some seconds
constexpr double kHopeless = 5;        // failures in one segment: 150 attempts each

CampaignTask task_of(const CampaignSpec& spec, double seconds, int nodes) {
  CampaignTask task;
  task.work = seconds;
  if (spec.failures) {
    task.rate = nodes / spec.failures->mtbf_per_node.in_base_units();
    task.restart = spec.failures->restart.in_base_units();
  }
  if (spec.checkpoint) {
    task.write = spec.checkpoint->write.in_base_units();
    if (spec.checkpoint->every) {
      task.interval = spec.checkpoint->every->in_base_units();
    } else if (task.rate > 0) {
      task.interval = daly_interval(task.write, task.rate);
    }
  }
  return task;
}

void expect_progress(const CampaignTask& task, const SourceLocation& at) {
  const double segment = std::max(std::min(task.interval, task.work) + task.write, task.restart);
  if (task.rate * segment > kHopeless) {
    throw InputError{at,
                     fmt::format("campaign: the job fails every {}, and {} have to pass without a failure: "
                                 "write checkpoints more often, or restart faster",
                                 to_string(Seconds{1 / task.rate}), to_string(Seconds{segment}))};
  }
}

}  // namespace

CampaignPrediction predict_campaign(const CampaignSpec& spec, const CampaignWork& work,
                                    const SourceLocation& at) {
  CampaignPrediction prediction;
  prediction.task = task_of(spec, work.seconds, work.nodes);
  prediction.dense_task = task_of(spec, work.dense_seconds, work.nodes);
  if (spec.checkpoint && spec.failures && !spec.checkpoint->every && !(prediction.task.interval > 0)) {
    throw InputError{at, "campaign: a checkpoint that takes no time has no best interval: say every:"};
  }
  expect_progress(prediction.task, at);
  expect_progress(prediction.dense_task, at);
  prediction.is_interval_chosen = spec.checkpoint && !spec.checkpoint->every && spec.failures;
  prediction.times = campaign_times(prediction.task);
  prediction.dense = campaign_times(prediction.dense_task);
  const double segments = std::max(1.0, prediction.times.checkpoints);
  const int trials =
      static_cast<int>(std::clamp(kMostSegments / segments, 2.0, static_cast<double>(spec.trials)));
  prediction.drawn = drawn_campaigns(prediction.task, trials, work.seed);
  if (spec.recurring) {
    prediction.recurring = spec.recurring->steps * spec.recurring->times * work.full_step;
  }
  return prediction;
}

}  // namespace lockstep
