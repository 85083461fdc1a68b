#include "traces/replay/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "traces/replay/communication.hpp"

namespace lockstep::replay {
namespace {

double in_seconds(Nanoseconds span) {
  return 1e-9 * static_cast<double>(span);
}

/// Length of the union of intervals, in order of their starts.
class Union {
 public:
  void add(double start, double end) {
    length_ += std::max(0.0, end - std::max(start, latest_));
    latest_ = std::max(latest_, end);
  }
  [[nodiscard]] double length() const { return length_; }

 private:
  double length_ = 0;
  double latest_ = -1e300;
};

ReplayObserver::Subjects recorded_subjects(const Replay& replay) {
  ReplayObserver::Subjects subjects;
  for (const RankProgram& program : replay.programs) {
    subjects.push_back(program.subjects);
  }
  return subjects;
}

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

ReplayObserver::ReplayObserver(const Replay& replay) : ReplayObserver{replay, recorded_subjects(replay)} {}

ReplayObserver::ReplayObserver(const Replay& replay, Subjects subjects)
    : replay_{replay}, subjects_{std::move(subjects)}, ranks_(replay.ranks.size()) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].work.resize(replay.ranks[i].trace.work.size());
    ranks_[i].operators.resize(replay.ranks[i].trace.operators.size());
  }
}

void ReplayObserver::write(std::span<const TimelineSpan> spans) {
  for (const TimelineSpan& span : spans) {
    if (span.rank >= ranks_.size()) {
      continue;  // a copy of a recorded rank
    }
    const bool on_gpu = span.kind == SpanKind::Kernel || span.kind == SpanKind::Collective;
    if (!on_gpu && span.kind != SpanKind::Range) {
      continue;
    }
    const std::uint32_t subject = subjects_[span.rank][span.thread][span.instruction];
    if (subject == kNone) {
      ranks_[span.rank].added += span.kind == SpanKind::Collective ? span.end - span.start : 0;
      continue;
    }
    Span& seen = on_gpu ? ranks_[span.rank].work[subject] : ranks_[span.rank].operators[subject];
    seen = {span.start, span.end, span.transfer_start};
  }
}

std::vector<RankComparison> ReplayObserver::compare() const {
  std::vector<RankComparison> all;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    all.push_back(compare(i));
  }
  return all;
}

RankComparison ReplayObserver::compare(std::size_t number) const {
  const RankRecording& rank = replay_.ranks[number];
  const Rank& seen = ranks_[number];
  RankComparison made;
  Pair first{1e300, 1e300};
  Pair last{0, 0};
  std::vector<double> errors;
  for (const Lane& lane : rank.links.lanes) {
    Union measured;
    Union simulated;
    for (std::uint32_t work = lane.first; work < lane.last; ++work) {
      const double start = in_seconds(rank.trace.work[work].start - rank.begin);
      const double end = in_seconds(rank.trace.work[work].end - rank.begin);
      measured.add(start, end);
      first.measured = std::min(first.measured, start);
      last.measured = std::max(last.measured, end);
      if (seen.work[work].start < 0) {
        continue;  // a change has removed it
      }
      simulated.add(seen.work[work].start, seen.work[work].end);
      first.simulated = std::min(first.simulated, seen.work[work].start);
      last.simulated = std::max(last.simulated, seen.work[work].end);
      errors.push_back(std::abs(seen.work[work].start - start));
    }
    made.streams.push_back({fmt::format("stream {}", lane.stream), {measured.length(), simulated.length()}});
  }
  made.last_end = last;
  if (!errors.empty()) {
    made.gpu_span = {last.measured - first.measured, last.simulated - first.simulated};
  }
  made.median_start_error = quantile(errors, 0.5);
  made.p90_start_error = quantile(errors, 0.9);
  made.communication.simulated = seen.added;
  for (const std::uint32_t work : rank.communication) {
    made.communication.measured += in_seconds(rank.trace.work[work].duration());
    made.communication.simulated += seen.work[work].end - seen.work[work].start;
    made.waiting += seen.work[work].transfer - seen.work[work].start;
  }
  for (std::uint32_t i = 0; i < rank.trace.operators.size(); ++i) {
    const kineto::Operator& op = rank.trace.operators[i];
    if (rank.trace.names.text(op.name).starts_with("ProfilerStep#")) {
      made.steps.push_back(
          {rank.trace.names.text(op.name),
           {in_seconds(op.end - op.start), seen.operators[i].end - seen.operators[i].start}});
    }
  }
  return made;
}

}  // namespace lockstep::replay
