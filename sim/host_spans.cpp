#include "sim/host_spans.hpp"

#include <algorithm>

#include "sim/timeline_buffer.hpp"

namespace lockstep {

void HostSpans::add(TimelineBuffer* timeline, const Place& now, const Occupation& occupation) const {
  if (timeline == nullptr) {
    return;
  }
  TimelineSpan made = span(now, occupation.kind, occupation.start, now.instruction);
  made.correlation = occupation.correlation;
  made.stream = occupation.stream;
  timeline->add(made);
}

void HostSpans::open_range(const TimelineBuffer* timeline, const Place& now) {
  if (timeline != nullptr) {
    open_.push_back({now.clock, now.instruction});
  }
}

void HostSpans::close_range(TimelineBuffer* timeline, const Place& now) {
  if (timeline == nullptr) {
    return;
  }
  const OpenRange range = open_.back();
  open_.pop_back();
  timeline->add(span(now, SpanKind::Range, range.start, range.instruction));
}

void HostSpans::add_noise(TimelineBuffer* timeline, const Place& now, std::uint32_t source,
                          double duration) const {
  if (timeline != nullptr) {
    timeline->add(span(now, SpanKind::Noise, now.clock - duration, source));
  }
}

TimelineSpan HostSpans::span(const Place& now, SpanKind kind, double start, std::uint32_t instruction) const {
  constexpr std::size_t kDeepest = 255;
  TimelineSpan made;
  made.start = made.transfer_start = start;
  made.end = now.clock;
  made.rank = now.rank;
  made.instruction = instruction;
  made.step = now.step;
  made.kind = kind;
  made.thread = thread_;
  made.depth = static_cast<std::uint8_t>(std::min(open_.size(), kDeepest));
  return made;
}

}  // namespace lockstep
