#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "sim/noise.hpp"

namespace lockstep {

/// What interrupts the host at intervals: `{ name: checkpoint, every_steps: 10, duration: 2 s, ranks: [0] }`.
struct NoiseSpec {
  std::string name;
  Seconds duration;
  std::optional<Seconds> every;
  std::optional<int> every_steps;
  std::vector<int> ranks;
  bool together = false;

  template <class Visitor>
  static void describe(Visitor& key, NoiseSpec& noise) {
    key.required("name", noise.name, "as the timeline shows it, e.g. checkpoint, garbage_collection");
    key.required("duration", noise.duration, "for which the main thread does nothing else, e.g. 30 ms");
    key.optional("every", noise.every, std::nullopt,
                 "time from one interruption's beginning to the next, e.g. 2 s; or every_steps");
    key.optional("every_steps", noise.every_steps, std::nullopt,
                 "before each so-manieth step, but not before the first; or every");
    key.optional("ranks", noise.ranks, {}, "whose; all when left out");
    key.optional(
        "together", noise.together, false,
        "with 'every': all ranks at once; else each begins at a time of its own, drawn from the seed");
  }

  /// @throws FieldError
  void check() const;
};

/// What the simulation is told. @param seed of when each rank's interruptions begin
[[nodiscard]] Noise noise_of(const std::vector<NoiseSpec>& specs, std::uint64_t seed);

}  // namespace lockstep
