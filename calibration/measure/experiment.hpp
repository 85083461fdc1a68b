#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "calibration/measure/statistics.hpp"

namespace lockstep {

/// One point, ready to be measured: memory is allocated and filled, nothing is left to do but to repeat.
class Experiment {
 public:
  Experiment() = default;
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;
  virtual ~Experiment() = default;

  /// @p count more repeats, the time of each. @throws std::runtime_error where the machine fails
  virtual std::vector<Seconds> repeat(std::size_t count) = 0;

  /// The cells under the family's `facts`; asked after the repeats.
  [[nodiscard]] virtual std::vector<std::string> facts() const { return {}; }
};

/// Repeats until @p rule is met, after a warm-up of three repeats that do not count (code is loaded, caches
/// and clocks settle).
[[nodiscard]] Spread repeated(Experiment& experiment, const StoppingRule& rule);

}  // namespace lockstep
