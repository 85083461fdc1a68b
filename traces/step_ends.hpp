#pragma once

/// @file
/// When the steps of a run end, on the clock of its trace or of a simulation.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

/// The number of the step in whose range on the host (ProfilerStep#N) or behind it, but before the next one,
/// something was launched; counted from 1, 0: before the first.
/// @param starts of the ranges, in order
template <class Time>
[[nodiscard]] std::size_t step_of_launch(std::span<const Time> starts, Time launched) {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts, launched) - starts.begin());
}

/// A step ends when its range on the host is over and all GPU work that was launched in it, on all streams;
/// it lasts from the end of the one before. The first begins with its range, or when the work launched before
/// it is over. So steps add up to the time between the first begin and the last end, also of a host that runs
/// ahead of its GPU.
template <class Time>
class StepEnds {
 public:
  struct Step {
    Time begin, end;
  };

  explicit StepEnds(std::size_t steps) : latest_(steps + 1), is_seen_(steps + 1, false) {}

  /// @param step counted from 1
  void add_range(std::size_t step, Time start, Time end) {
    if (step == 1) {
      add_work(0, start);
    }
    add_work(step, end);
  }
  /// @param step as step_of_launch() counts
  void add_work(std::size_t step, Time end) {
    latest_[step] = is_seen_[step] ? std::max(latest_[step], end) : end;
    is_seen_[step] = true;
  }

  /// In order, one for each range.
  [[nodiscard]] std::vector<Step> steps() const {
    std::vector<Step> made;
    Time before = latest_.front();
    for (std::size_t step = 1; step < latest_.size(); ++step) {
      const Time end = std::max(before, latest_[step]);
      made.push_back({before, end});
      before = end;
    }
    return made;
  }

 private:
  std::vector<Time> latest_;  // of what was launched before the first step, then by step
  std::vector<bool> is_seen_;
};

}  // namespace lockstep
