#include "scenario/campaign_spec.hpp"

#include <fmt/format.h>

namespace lockstep {

void CampaignCheckpoint::check() const {
  if (write < Seconds{0}) {
    throw FieldError{"write", "a time, not negative"};
  }
  if (every && !(*every > Seconds{0})) {
    throw FieldError{"every", "more than 0 s lie between two checkpoints"};
  }
}

void CampaignFailures::check() const {
  if (!(mtbf_per_node > Seconds{0})) {
    throw FieldError{"mtbf_per_node", "more than 0 s; leave 'failures' out where nothing fails"};
  }
  if (restart < Seconds{0}) {
    throw FieldError{"restart", "a time, not negative"};
  }
}

void RecurringTraining::check() const {
  constexpr double kMost = 1e15;
  if (!(steps >= 1 && steps <= kMost)) {
    throw FieldError{"steps", fmt::format("at least 1 and at most {:g}, not {:g}", kMost, steps)};
  }
  if (!(times >= 1 && times <= kMost)) {
    throw FieldError{"times", fmt::format("at least 1 and at most {:g}, not {:g}", kMost, times)};
  }
}

void CampaignSpec::check() const {
  constexpr int kMostTrials = 1'000'000;
  if (trials < 2 || trials > kMostTrials) {
    throw FieldError{"trials", fmt::format("at least 2 and at most {}, not {}", kMostTrials, trials)};
  }
  if (failures && !checkpoint) {
    throw FieldError{
        "failures",
        "without a checkpoint a failure begins the training anew: say checkpoint: { write: 30 s }"};
  }
}

}  // namespace lockstep
