#pragma once

#include "generate/runtime/clock.cuh"

namespace benchmark {

/// Host time of one thread: due() is when the thread would be where it is, had its calls taken what was
/// recorded.
class HostClock {
 public:
  /// @param recorded whether host time is spent
  explicit HostClock(bool recorded) : recorded_{recorded}, due_{host_now()} {}
  void spend(float seconds) {
    if (recorded_ && seconds > 0) {
      due_ += static_cast<double>(seconds);
      const double late = wait_until(due_);
      due_ += late;
      late_ += late;
    }
  }
  void has_waited() { due_ = host_now(); }
  [[nodiscard]] double late() const { return late_; }  ///< s that calls took longer, so far

 private:
  bool recorded_;
  double due_;
  double late_ = 0;
};

}  // namespace benchmark
