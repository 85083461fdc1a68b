#include "traces/event_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lockstep {
namespace {

/// Several events on each line, or all on one.
bool says_little(const EventPlace& place) {
  return place.number > place.line;
}

}  // namespace

std::string to_text(const EventPlace& place) {
  if (!says_little(place)) {
    return fmt::format("line {}", place.line);
  }
  return fmt::format("event {}", place.number) +
         (place.name.empty() ? "" : fmt::format(" ('{}')", place.name));
}

InputError event_error(const std::string& file, const EventPlace& place, const std::string& message) {
  if (says_little(place)) {
    const int line = place.line == 1 ? 0 : static_cast<int>(place.line);
    return InputError{{file, line}, fmt::format("{}: {}", to_text(place), message)};
  }
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  return InputError{{file, static_cast<int>(std::min(place.line, kMost))}, message};
}

}  // namespace lockstep
