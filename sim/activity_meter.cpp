#include "sim/activity_meter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

/// The place of a sweep in a lane that has intervals.
template <typename Lane>
class LaneCursor {
 public:
  explicit LaneCursor(Lane& lane) : lane_{&lane}, now_{lane.intervals.front()} {}

  [[nodiscard]] const auto& now() const { return now_; }

  /// Moves to the first interval that ends after @p swept. @return whether there is one
  bool advance(double swept) {
    while (now_.end <= swept) {
      if (++lane_->next == lane_->intervals.size()) {
        return false;
      }
      now_ = lane_->intervals[lane_->next];
    }
    return true;
  }

 private:
  Lane* lane_;
  std::remove_cvref_t<decltype(std::declval<Lane&>().intervals.front())> now_;  // beside those of other lanes
};

}  // namespace

double Activity::busy() const {
  return compute + copy + std::accumulate(exposed_transfer.begin(), exposed_transfer.end(), 0.0) +
         std::accumulate(exposed_waiting.begin(), exposed_waiting.end(), 0.0);
}

void ActivityMeter::collective(std::uint8_t stream, CollectiveKind kind, double start, double met,
                               double end) {
  add(stream, static_cast<std::uint8_t>(kWaiting + static_cast<std::uint8_t>(kind)), start, met);
  add(stream, static_cast<std::uint8_t>(kTransfer + static_cast<std::uint8_t>(kind)), met, end);
}

void ActivityMeter::add(std::uint8_t stream, std::uint8_t what, double start, double end) {
  if (end <= start) {
    return;
  }
  auto& intervals = lanes_[stream].intervals;
  if (!intervals.empty() && intervals.back().what == what && intervals.back().end == start) {
    intervals.back().end = end;  // back to back: one interval
    return;
  }
  intervals.push_back({start, end, what});
  ++pending_;
}

void ActivityMeter::count(std::uint8_t what, double seconds) {
  if (what == kCompute) {
    total_.compute += seconds;
  } else if (what == kCopy) {
    total_.copy += seconds;
  } else if (what < kWaiting) {
    total_.exposed_transfer[what - kTransfer] += seconds;
  } else {
    total_.exposed_waiting[what - kWaiting] += seconds;
  }
}

/// Sweeps from boundary to boundary: the lowest number among the open intervals says what the time was.
void ActivityMeter::sweep(double watermark) {
  constexpr auto kNone = std::numeric_limits<std::uint8_t>::max();
  std::vector<LaneCursor<Lane>> cursors;  // of lanes that have not ended
  for (Lane& lane : lanes_) {
    if (!lane.intervals.empty()) {
      cursors.emplace_back(lane);
    }
  }
  while (swept_ < watermark) {
    double boundary = watermark;
    std::uint8_t what = kNone;
    for (std::size_t i = 0; i < cursors.size();) {
      if (!cursors[i].advance(swept_)) {
        cursors[i] = cursors.back();
        cursors.pop_back();
        continue;
      }
      const Interval& interval = cursors[i++].now();
      if (interval.start <= swept_) {
        what = std::min(what, interval.what);
        boundary = std::min(boundary, interval.end);
      } else {
        boundary = std::min(boundary, interval.start);
      }
    }
    if (what != kNone) {
      count(what, boundary - swept_);
    }
    swept_ = boundary;
  }
  forget_swept();
}

/// Moves what is left to the front, so the next sweep waits until there is as much again.
void ActivityMeter::forget_swept() {
  pending_ = 0;
  for (Lane& lane : lanes_) {
    lane.intervals.erase(lane.intervals.begin(),
                         lane.intervals.begin() + static_cast<std::ptrdiff_t>(lane.next));
    lane.next = 0;
    pending_ += lane.intervals.size();
  }
  sweep_at_ = std::max(kLeastToSweep, 2 * pending_);
}

}  // namespace lockstep
