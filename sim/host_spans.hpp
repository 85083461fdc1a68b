#pragma once

#include <cstdint>
#include <vector>

#include "sim/timeline.hpp"

namespace lockstep {

class TimelineBuffer;

/// The part of a host thread that the timeline sees: its calls, its waits, and the ranges that are open. Does
/// nothing without a timeline.
class HostSpans {
 public:
  /// A thread at an instruction of a step.
  struct Place {
    std::uint32_t rank = 0;
    std::uint32_t step = 0;
    std::uint32_t instruction = 0;
    double clock = 0;
  };
  /// An occupation that ends at the thread's clock. @param correlation of the launch that it makes, 0: none
  struct Occupation {
    SpanKind kind;
    double start;
    std::uint32_t correlation = 0;
    std::uint8_t stream = 0;
  };

  explicit HostSpans(std::uint8_t thread) : thread_{thread} {}

  void add(TimelineBuffer* timeline, const Place& now, const Occupation& occupation) const;
  void open_range(const TimelineBuffer* timeline, const Place& now);
  void close_range(TimelineBuffer* timeline, const Place& now);
  /// @param source of the noise, as Noise counts them @param duration seconds
  void add_noise(TimelineBuffer* timeline, const Place& now, std::uint32_t source, double duration) const;

 private:
  struct OpenRange {
    double start;
    std::uint32_t instruction;
  };

  [[nodiscard]] TimelineSpan span(const Place& now, SpanKind kind, double start,
                                  std::uint32_t instruction) const;

  std::vector<OpenRange> open_;
  std::uint8_t thread_;
};

}  // namespace lockstep
