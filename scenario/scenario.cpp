#include "scenario/scenario.hpp"

#include <fmt/format.h>

#include <set>

namespace lockstep {

void SlowRank::check() const {
  if (rank < 0) {
    throw FieldError{"rank", "ranks are counted from 0"};
  }
  constexpr double kMost = 1e6;
  const auto is_factor = [](double factor) { return factor > 0 && factor <= kMost; };
  if (!is_factor(gpu) || !is_factor(host)) {
    throw FieldError{is_factor(gpu) ? "host" : "gpu",
                     fmt::format("a factor on durations is greater than 0, and at most {}", kMost)};
  }
}

void VariationSpec::check() const {
  std::set<int> seen;
  for (const SlowRank& slow : slow_ranks) {
    if (!seen.insert(slow.rank).second) {
      throw FieldError{"slow_ranks", fmt::format("rank {} is named twice", slow.rank)};
    }
  }
}

void MemorySpec::check() const {
  if (context < Bytes{0}) {
    throw FieldError{"context", "'context' is not negative"};
  }
  if (fragmentation < 0 || fragmentation >= 1) {
    throw FieldError{"fragmentation", "'fragmentation' is a share: at least 0, below 1"};
  }
}

void ScenarioSpec::check() const {
  if (!workload && !trace) {
    throw FieldError{"workload",
                     "nothing to simulate: say workload: (what is trained) or trace: (execution traces)"};
  }
  if (workload && trace) {
    throw FieldError{"trace", "a scenario has a workload or a trace, not both"};
  }
  if (steps < 1) {
    throw FieldError{"steps", fmt::format("at least one step must be simulated, not {}", steps)};
  }
  constexpr int kMostSteps = 1'000'000;
  if (steps > kMostSteps) {
    throw FieldError{"steps", fmt::format("at most {} steps are simulated, not {}", kMostSteps, steps)};
  }
  if (price_per_gpu_hour && !(*price_per_gpu_hour > 0)) {
    throw FieldError{"price_per_gpu_hour", "a price is greater than 0; leave it out where there is none"};
  }
}

}  // namespace lockstep
