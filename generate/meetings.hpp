#pragma once

/// @file
/// When work of a simulated step began and ended, by its place in the ranks' Programs.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "sim/timeline.hpp"

namespace lockstep::generate {

/// A rank's collective or kernel of a step: where it stands in the rank's Program.
using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // rank, thread, instruction

struct Meeting {
  double arrived = 0, ended = 0;
};

/// Collectives and kernels of the last step, by their place.
class MeetingRecorder final : public TimelineSink {
 public:
  explicit MeetingRecorder(int steps) : last_{static_cast<std::uint32_t>(steps - 1)} {}
  void write(std::span<const TimelineSpan> spans) override {
    for (const TimelineSpan& span : spans) {
      const bool is_work = span.kind == SpanKind::Collective || span.kind == SpanKind::Kernel;
      if (is_work && span.step == last_) {
        seen_[{span.rank, span.thread, span.instruction}] = {span.start, span.end};
      }
    }
  }
  [[nodiscard]] const Meeting& at(const Place& place) const { return seen_.at(place); }

 private:
  std::uint32_t last_;
  std::map<Place, Meeting> seen_;
};

}  // namespace lockstep::generate
