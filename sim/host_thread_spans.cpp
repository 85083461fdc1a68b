/// @file
/// What the timeline sees of a host thread.

#include <algorithm>

#include "sim/host_thread.hpp"
#include "sim/rank.hpp"

namespace lockstep {

TimelineSpan HostThread::span_until_now(const Rank& rank, SpanKind kind, double start,
                                        std::uint32_t instruction) const {
  TimelineSpan span;
  span.start = span.transfer_start = start;
  span.end = clock_;
  span.rank = rank.number();
  span.instruction = instruction;
  span.step = step_;
  span.kind = kind;
  span.thread = self_;
  span.depth = static_cast<std::uint8_t>(std::min<std::size_t>(open_.size(), 255));
  return span;
}

void HostThread::open_range(Rank& rank) {
  if (rank.context().timeline != nullptr) {
    open_.push_back({clock_, next_});
  }
}

void HostThread::close_range(Rank& rank) {
  if (TimelineBuffer* timeline = rank.context().timeline) {
    const OpenRange range = open_.back();
    open_.pop_back();
    timeline->add(span_until_now(rank, SpanKind::Range, range.start, range.instruction));
  }
}

void HostThread::add_span(Rank& rank, SpanKind kind, double start, std::uint32_t correlation,
                          std::uint8_t stream) {
  TimelineBuffer* timeline = rank.context().timeline;
  if (timeline == nullptr) {
    return;
  }
  TimelineSpan span = span_until_now(rank, kind, start, next_);
  span.correlation = correlation;
  span.stream = stream;
  timeline->add(span);
}

/// An interruption that has just passed, for the log and the timeline.
void HostThread::add_noise(Rank& rank, const RankNoise::Interruption& interruption) {
  if (rank.log && step_ == rank.log->step) {
    rank.log->noise.push_back({next_, interruption.source, interruption.duration});
  }
  TimelineBuffer* timeline = rank.context().timeline;
  if (timeline == nullptr) {
    return;
  }
  timeline->add(span_until_now(rank, SpanKind::Noise, clock_ - interruption.duration, interruption.source));
}

}  // namespace lockstep
