#pragma once

/// @file
/// When work of a simulated step began and ended, by its place in the ranks' Programs.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "ops/job.hpp"
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

[[nodiscard]] inline bool is_message(const CollectiveCall& call) {
  return call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive;
}

/// How long collectives and messages took once all of the given ranks that take part had arrived.
class Transfers {
 public:
  /// @param ranks of @p job whose arrivals count
  Transfers(const Job& job, std::span<const std::uint32_t> ranks, const MeetingRecorder& meetings);

  /// Seconds from the last arrival to the end. @throws std::out_of_range for a place without a collective
  [[nodiscard]] double at(const Place& place) const;

 private:
  /// The k-th collective of a group, or the k-th message there from one rank to another, both of the job.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

  void add_rank(const Job& job, std::uint32_t rank);

  const MeetingRecorder& meetings_;
  std::map<Place, Key> keys_;
  std::map<Key, double> last_arrivals_;
};

}  // namespace lockstep::generate
