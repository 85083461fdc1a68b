#include "scenario/noise_spec.hpp"

namespace lockstep {

void NoiseSpec::check() const {
  if (!(duration > Seconds{0})) {
    throw FieldError{"duration", "must be greater than 0"};
  }
  if (every.has_value() == every_steps.has_value()) {
    throw FieldError{every ? "every_steps" : "name",
                     "say either 'every', a time, or 'every_steps', a number"};
  }
  if (every && !(*every > duration)) {
    throw FieldError{"every", "must be longer than the duration: it counts from beginning to beginning"};
  }
  if (every_steps && *every_steps < 1) {
    throw FieldError{"every_steps", "must be at least 1"};
  }
  if (together && every_steps) {
    throw FieldError{"together",
                     "belongs to 'every': steps begin together as far as ranks wait for each other"};
  }
  for (const int rank : ranks) {
    if (rank < 0) {
      throw FieldError{"ranks", "ranks are counted from 0"};
    }
  }
}

Noise noise_of(const std::vector<NoiseSpec>& specs, std::uint64_t seed) {
  std::vector<NoiseSource> sources;
  for (const NoiseSpec& spec : specs) {
    NoiseSource& source = sources.emplace_back();
    source.name = spec.name;
    source.every = spec.every.value_or(Seconds{0}).in_base_units();
    source.every_steps = static_cast<std::uint32_t>(spec.every_steps.value_or(0));
    source.duration = spec.duration.in_base_units();
    source.ranks.assign(spec.ranks.begin(), spec.ranks.end());
    source.together = spec.together;
  }
  return {std::move(sources), Random{seed, "noise"}};
}

}  // namespace lockstep
