#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace lockstep {

/// A cause that takes the main thread of ranks away at intervals: checkpoints that are written, garbage
/// collection, daemons. Either `every` or `every_steps` is set.
struct NoiseSource {
  std::string name;
  double every = 0;  ///< s, from the beginning of one interruption to that of the next; > duration
  std::uint32_t every_steps = 0;     ///< before each so-manieth step, but not before the first
  double duration = 0;               ///< s, > 0
  std::vector<std::uint32_t> ranks;  ///< empty: all
  bool together = false;             ///< `every`: at the same time on all ranks, not each at its own
};

/// The interruptions of one rank's main thread. One that is due begins before the thread's next instruction;
/// of those that came due while an instruction took its time, the thread takes one and the others are past.
class RankNoise {
 public:
  struct Interruption {
    std::uint32_t source = 0;
    double duration = 0;  ///< s
  };

  /// @param first s, < every: when the first interruption of a source with `every` is due
  void add(std::uint32_t number, const NoiseSource& source, double first);

  /// The interruption of the thread that comes to an instruction at @p clock, one at a time.
  std::optional<Interruption> next(double clock, std::uint32_t step, bool step_begins) {
    return clock >= earliest_ || (step_begins && counts_steps_) ? take(clock, step, step_begins)
                                                                : std::nullopt;
  }

 private:
  std::optional<Interruption> take(double clock, std::uint32_t step, bool step_begins);

  struct Timer {
    Interruption interruption;
    double first = 0;
    double every = 0;  // 0: by steps
    double due = 0;    // the next one
    std::uint32_t every_steps = 0;
    std::uint32_t due_step = 0;
  };
  std::vector<Timer> timers_;
  double earliest_ = std::numeric_limits<double>::infinity();
  bool counts_steps_ = false;
};

/// The noise of a simulation.
class Noise {
 public:
  Noise() = default;
  /// @param random draws when each rank's first interruption is due
  Noise(std::vector<NoiseSource> sources, const Random& random)
      : sources_{std::move(sources)}, random_{random} {}

  [[nodiscard]] const std::vector<NoiseSource>& sources() const { return sources_; }

  /// Null: nothing disturbs the rank.
  [[nodiscard]] std::unique_ptr<RankNoise> of(std::uint32_t rank) const;

 private:
  std::vector<NoiseSource> sources_;
  Random random_{0, "noise"};
};

}  // namespace lockstep
