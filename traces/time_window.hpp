#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// When the events of a trace take place, found from all of their times: a profiler's clock reads 0 where it
/// was lost, and years off where a number overflowed. One policy for all readers.
class TimeWindow {
 public:
  enum class Place : std::uint8_t {
    Within,
    Lost,     ///< at 0, where all others begin much later
    Outside,  ///< so far from all others that it is no time
  };

  /// Around the median: the events that no silence of a minute, and of ten times what is found so far, parts
  /// from it. Times that may be lost ones do not decide.
  /// @param starts of all events, ns
  explicit TimeWindow(std::vector<std::int64_t> starts);

  /// @param start,end of an event, ns
  [[nodiscard]] Place place_of(std::int64_t start, std::int64_t end) const;

 private:
  std::int64_t first_ = 0, last_ = 0;  // starts within
  bool is_empty_ = true;
};

/// How much an operation may end before it begins and still be of no time: clocks of host and GPU, or of two
/// streams, are so far apart at most (8 of 112,992 operations of a public timeline: 21 to 75 us), ns.
inline constexpr std::int64_t kClocksApart = 1'000'000;

}  // namespace lockstep
