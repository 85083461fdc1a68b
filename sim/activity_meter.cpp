#include "sim/activity_meter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lockstep {

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
  while (swept_ < watermark) {
    double boundary = watermark;
    std::uint8_t what = kNone;
    for (Lane& lane : lanes_) {
      while (lane.next < lane.intervals.size() && lane.intervals[lane.next].end <= swept_) {
        ++lane.next;
      }
      if (lane.next == lane.intervals.size()) {
        continue;
      }
      const Interval& interval = lane.intervals[lane.next];
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
