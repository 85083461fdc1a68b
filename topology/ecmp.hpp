#pragma once

#include <cstdint>

namespace lockstep {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// How often this thread chose by a hash. What was worked out while it stood still does not depend on the
/// numbers of devices.
inline std::uint64_t& hashed_choices() {
  thread_local std::uint64_t choices = 0;
  return choices;
}

/// How a message picks among equally good continuations: by a hash of its ends and flow, salted with the
/// number of links it has crossed, so that successive switches decide independently.
struct EcmpHash {
  std::uint64_t message = 0;

  constexpr EcmpHash(std::uint32_t from, std::uint32_t to, std::uint64_t flow)
      : message{mixed(mixed(mixed(from) + to) + flow)} {}

  /// 0 .. choices - 1, after @p hops links.
  [[nodiscard]] std::uint32_t pick(std::uint32_t choices, std::uint32_t hops) const {
    if (choices == 1) {
      return 0;
    }
    ++hashed_choices();
    return static_cast<std::uint32_t>(mixed(message + hops) % choices);
  }
};

}  // namespace lockstep
