#include "calibration/measure/experiment.hpp"

#include <algorithm>

namespace lockstep {

Spread repeated(Experiment& experiment, const StoppingRule& rule) {
  constexpr std::size_t kWarmUps = 3;
  experiment.repeat(kWarmUps);
  std::vector<Seconds> times;
  while (!rule.is_met_by(times)) {
    // Doubles the number of times, so that the GPU is waited for a few times only.
    const std::size_t allowed = std::max(rule.most, StoppingRule::kFewest) - times.size();
    const std::size_t more = std::min(std::max(times.size(), StoppingRule::kFewest), allowed);
    const std::vector<Seconds> next = experiment.repeat(more);
    times.insert(times.end(), next.begin(), next.end());
  }
  return spread_of(times);
}

}  // namespace lockstep
