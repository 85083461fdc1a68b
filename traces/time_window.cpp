#include "traces/time_window.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMilli;
constexpr std::int64_t kSilence = 60 * kSecond;           // within a window, at most
constexpr std::int64_t kLongestEvent = 86'400 * kSecond;  // beyond the last start
constexpr std::int64_t kFarFromZero = 100 * kMilli;
constexpr std::int64_t kTimes = 10;  // as long as the window: longer than any silence or event of it

/// 0, or what a small negative time was before it lost its sign.
bool may_be_lost(std::int64_t start) {
  return start <= 0 && start > -kMilli;
}

std::int64_t beyond(std::int64_t usual, std::int64_t length) {
  return std::max(usual, kTimes * std::min(length, kLongestEvent));
}

}  // namespace

TimeWindow::TimeWindow(std::vector<std::int64_t> starts) {
  if (!std::ranges::all_of(starts, may_be_lost)) {
    std::erase_if(starts, may_be_lost);
  }
  if (starts.empty()) {
    return;
  }
  is_empty_ = false;
  std::ranges::sort(starts);
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  auto low = middle;
  auto high = middle;
  for (bool grows = true; grows;) {
    const std::int64_t most = beyond(kSilence, *high - *low);
    grows = false;
    for (; low != starts.begin() && *low - *std::prev(low) <= most; --low) {
      grows = true;
    }
    for (; std::next(high) != starts.end() && *std::next(high) - *high <= most; ++high) {
      grows = true;
    }
  }
  first_ = *low;
  last_ = *high;
}

TimeWindow::Place TimeWindow::place_of(std::int64_t start, std::int64_t end) const {
  const std::int64_t length = last_ - first_;
  if (is_empty_) {
    return Place::Within;
  }
  if (may_be_lost(start) && end < first_) {
    // One that lasts was perhaps there: a long silence behind it is no proof.
    const std::int64_t far = std::max(kFarFromZero, end > start ? beyond(0, length) : length);
    return first_ - end > far ? Place::Lost : Place::Within;
  }
  const std::int64_t near = beyond(kSilence, length);  // of events that the window was not made of
  const bool is_outside =
      start < first_ - near || start > last_ + near || end > last_ + beyond(kLongestEvent, length);
  return is_outside && !may_be_lost(start) ? Place::Outside : Place::Within;
}

}  // namespace lockstep
