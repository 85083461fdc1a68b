#pragma once

#include <chrono>

#include "base/units.hpp"

namespace lockstep {

/// Time that is left. A search that it cuts short may give another plan on another day.
class TimeBudget {
 public:
  explicit TimeBudget(Seconds budget)
      : end_{std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>{budget / Seconds{1}})} {}

  [[nodiscard]] bool is_spent() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace lockstep
