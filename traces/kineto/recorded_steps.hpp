#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// Ranges that the profiler opens for each step begin so.
inline constexpr std::string_view kStepPrefix = "ProfilerStep#";

/// Instead of an index where there is nothing.
inline constexpr std::uint32_t kNoRange = ~0U;

/// A step as the host marks it, and what of it is missing.
struct RecordedStep {
  std::string name;
  Nanoseconds start = 0, end = 0;  ///< of its range; of one that was lost what the steps around it leave
  std::uint32_t range = kNoRange;  ///< index into RecordedTrace::operators; kNoRange: its range was lost
  std::uint64_t lost_events = 0;   ///< of operators and calls
  std::uint64_t lost_work = 0;     ///< launches and pieces of GPU work
  std::string example;             ///< name of something lost
  /// Whether the trace says when it ends: its range is there, and a wait for the device or work launched
  /// later in it shows when lost work was over.
  bool is_timed = true;

  [[nodiscard]] bool is_whole() const { return is_timed && lost_events == 0 && lost_work == 0; }
};

/// In order of time; empty: the trace has no ranges of steps.
[[nodiscard]] std::vector<RecordedStep> recorded_steps(const RecordedTrace& trace);

/// `ProfilerStep#2: its range; 3 events, 2 pieces of GPU work (e.g. aten::mm)`: what is missing; empty:
/// nothing.
[[nodiscard]] std::string missing_in_words(const RecordedStep& step);

}  // namespace lockstep::kineto
