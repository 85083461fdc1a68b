#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/ring.hpp"

namespace lockstep {

/// A host thread's knowledge of the launches it has queued on a stream. Those that have not started hold a
/// place each, and a launch call blocks while all places are taken.
class LaunchQueue {
 public:
  /// Counts a launch in, advancing @p clock to the moment when there is room for it.
  /// False: that moment is not known yet.
  bool admit(double& clock, std::uint32_t depth) {
    host_clock_ = clock;
    if (unstarted_ >= depth && !make_room(clock, depth)) {
      return false;
    }
    ++unstarted_;
    return true;
  }

  /// The oldest launch that was counted in starts at @p start.
  void starts_at(double start) {
    if (starts_.size() == starts_.capacity()) {
      forget_started(host_clock_);  // now and then, and before the ring grows
    }
    starts_.push(start);
  }

 private:
  /// The oldest give way first.
  bool make_room(double& clock, std::uint32_t depth) {
    forget_started(clock);
    while (unstarted_ >= depth) {
      if (starts_.empty()) {
        return false;
      }
      clock = std::max(clock, starts_.front());
      starts_.pop();
      --unstarted_;
    }
    return true;
  }

  void forget_started(double clock) {
    while (!starts_.empty() && starts_.front() <= clock) {
      starts_.pop();
      --unstarted_;
    }
  }

  Ring<double> starts_;          // of launches that the host may not know to have started
  double host_clock_ = 0;        // when a thread launched last
  std::uint32_t unstarted_ = 0;  // launches queued, and those in starts_
};

}  // namespace lockstep
