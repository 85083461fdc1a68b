/// @file
/// What the timeline sees of a host thread.

#include <algorithm>

#include "sim/host_thread.hpp"
#include "sim/rank.hpp"

namespace lockstep {

void HostThread::open_range(Rank& rank) {
  if (rank.context().timeline != nullptr) {
    open_.push_back({clock_, next_});
  }
}

void HostThread::close_range(Rank& rank) {
  if (TimelineBuffer* timeline = rank.context().timeline) {
    const OpenRange range = open_.back();
    open_.pop_back();
    TimelineSpan span;
    span.start = span.transfer_start = range.start;
    span.end = clock_;
    span.rank = rank.number();
    span.instruction = range.instruction;
    span.step = step_;
    span.kind = SpanKind::Range;
    span.thread = self_;
    span.depth = static_cast<std::uint8_t>(std::min<std::size_t>(open_.size(), 255));
    timeline->add(span);
  }
}

void HostThread::add_span(Rank& rank, SpanKind kind, double start, std::uint32_t correlation,
                          std::uint8_t stream) {
  TimelineBuffer* timeline = rank.context().timeline;
  if (timeline == nullptr) {
    return;
  }
  TimelineSpan span;
  span.start = span.transfer_start = start;
  span.end = clock_;
  span.rank = rank.number();
  span.instruction = next_;
  span.correlation = correlation;
  span.step = step_;
  span.kind = kind;
  span.thread = self_;
  span.stream = stream;
  span.depth = static_cast<std::uint8_t>(std::min<std::size_t>(open_.size(), 255));
  timeline->add(span);
}

}  // namespace lockstep
