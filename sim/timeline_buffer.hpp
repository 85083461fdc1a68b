#pragma once

#include <vector>

#include "sim/timeline.hpp"

namespace lockstep {

/// Collects spans and hands them to the sink in batches.
class TimelineBuffer {
 public:
  explicit TimelineBuffer(TimelineSink& sink) : sink_{sink} { spans_.reserve(kBatch); }

  void add(const TimelineSpan& span) {
    spans_.push_back(span);
    if (spans_.size() == kBatch) {
      flush();
    }
  }

  void flush() {
    sink_.write(spans_);
    spans_.clear();
  }

 private:
  static constexpr std::size_t kBatch = 4096;  // 192 KiB: stays in the second-level cache
  TimelineSink& sink_;
  std::vector<TimelineSpan> spans_;
};

}  // namespace lockstep
