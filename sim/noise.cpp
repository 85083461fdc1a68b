#include "sim/noise.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep {

void RankNoise::add(std::uint32_t number, const NoiseSource& source, double first) {
  Timer timer;
  timer.interruption = {number, source.duration};
  timer.first = timer.due = first;
  timer.every = source.every;
  timer.every_steps = timer.due_step = source.every_steps;
  if (source.every > 0) {
    earliest_ = std::min(earliest_, first);
  } else {
    counts_steps_ = true;
  }
  timers_.push_back(timer);
}

std::optional<RankNoise::Interruption> RankNoise::take(double clock, std::uint32_t step, bool step_begins) {
  std::optional<Interruption> taken;
  earliest_ = std::numeric_limits<double>::infinity();
  for (Timer& timer : timers_) {
    const bool by_time = timer.every > 0;
    if (!taken && by_time && clock >= timer.due) {
      taken = timer.interruption;
      timer.due = timer.first + (std::floor((clock - timer.first) / timer.every) + 1) * timer.every;
    } else if (!taken && !by_time && step_begins && step >= timer.due_step) {
      taken = timer.interruption;
      timer.due_step = (step / timer.every_steps + 1) * timer.every_steps;
    }
    if (by_time) {
      earliest_ = std::min(earliest_, timer.due);
    }
  }
  return taken;
}

std::unique_ptr<RankNoise> Noise::of(std::uint32_t rank) const {
  std::unique_ptr<RankNoise> noise;
  for (std::uint32_t number = 0; number < sources_.size(); ++number) {
    const NoiseSource& source = sources_[number];
    const auto& ranks = source.ranks;
    if (!ranks.empty() && std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
      continue;
    }
    if (noise == nullptr) {
      noise = std::make_unique<RankNoise>();
    }
    const double phase = random_.of(number).uniform(source.together ? 0 : rank + std::uint64_t{1});
    noise->add(number, source, phase * source.every);
  }
  return noise;
}

}  // namespace lockstep
