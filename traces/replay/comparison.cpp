#include "traces/replay/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "traces/replay/communication.hpp"
#include "traces/step_ends.hpp"

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

/// Steps as the host's ranges mark them, in order.
std::vector<std::uint32_t> step_marks(const kineto::RecordedTrace& trace) {
  std::vector<std::uint32_t> marks;
  for (std::uint32_t i = 0; i < trace.operators.size(); ++i) {
    if (trace.names.text(trace.operators[i].name).starts_with("ProfilerStep#")) {
      marks.push_back(i);
    }
  }
  std::ranges::sort(marks, {}, [&](std::uint32_t mark) { return trace.operators[mark].start; });
  return marks;
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

Pair mean_step(const RankComparison& rank) {
  return mean_step(std::vector{rank});
}

Pair mean_step(const std::vector<RankComparison>& ranks) {
  const std::size_t steps = ranks.front().steps.size();
  Pair mean;
  if (!std::ranges::all_of(ranks, [&](const RankComparison& rank) { return rank.steps.size() == steps; })) {
    for (const RankComparison& rank : ranks) {
      const Pair own = mean_step(rank);
      mean.measured += own.measured / static_cast<double>(ranks.size());
      mean.simulated += own.simulated / static_cast<double>(ranks.size());
    }
    return mean;
  }
  Pair begin = steps == 0 ? Pair{} : ranks.front().steps.front().begin;
  for (const RankComparison& rank : ranks) {
    if (steps > 0) {
      begin = {std::min(begin.measured, rank.steps.front().begin.measured),
               std::min(begin.simulated, rank.steps.front().begin.simulated)};
    }
    const Pair end = steps == 0 ? rank.last_end : rank.steps.back().end;
    mean = {std::max(mean.measured, end.measured), std::max(mean.simulated, end.simulated)};
  }
  const double count = std::max(1.0, static_cast<double>(steps));
  return {(mean.measured - begin.measured) / count, (mean.simulated - begin.simulated) / count};
}

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
    const std::uint32_t subject = subjects_[span.rank][span.thread][span.instruction];
    Rank& seen = ranks_[span.rank];
    const Span times{span.start, span.end, span.transfer_start};
    switch (span.kind) {
      case SpanKind::Kernel:
      case SpanKind::Collective:
        if (subject != kNone) {
          seen.work[subject] = times;
        } else if (span.kind == SpanKind::Collective) {
          seen.added[span.correlation] = times;
        }
        break;
      case SpanKind::Range:
        if (subject != kNone) {
          seen.operators[subject] = times;
        }
        break;
      case SpanKind::Runtime:
        if (subject == kNone) {
          seen.calls[span.correlation] = span.start;
        }
        break;
      case SpanKind::HostWork:
      case SpanKind::Noise:
      case SpanKind::HostWait:
        break;
    }
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
  for (const auto& [correlation, added] : seen.added) {
    made.communication.simulated += added.end - added.start;
  }
  for (const std::uint32_t work : rank.communication) {
    made.communication.measured += in_seconds(rank.trace.work[work].duration());
    made.communication.simulated += seen.work[work].end - seen.work[work].start;
    made.waiting += seen.work[work].transfer - seen.work[work].start;
  }
  made.steps = compare_steps(number);
  return made;
}

std::vector<StepPair> ReplayObserver::compare_steps(std::size_t number) const {
  const RankRecording& rank = replay_.ranks[number];
  const Rank& seen = ranks_[number];
  const std::vector<std::uint32_t> marks = step_marks(rank.trace);
  std::vector<Nanoseconds> starts;
  std::vector<double> simulated_starts;
  StepEnds<Nanoseconds> measured{marks.size()};
  StepEnds<double> simulated{marks.size()};
  for (const std::uint32_t mark : marks) {
    const kineto::Operator& op = rank.trace.operators[mark];
    starts.push_back(op.start);
    measured.add_range(starts.size(), op.start, op.end);
    simulated_starts.push_back(seen.operators[mark].start);
    simulated.add_range(starts.size(), seen.operators[mark].start, seen.operators[mark].end);
  }
  for (std::uint32_t work = 0; work < rank.trace.work.size(); ++work) {
    const std::uint32_t call = rank.links.call_of_work[work];
    const kineto::Work& recorded = rank.trace.work[work];
    const std::size_t step =
        step_of_launch<Nanoseconds>(starts, call == kNone ? recorded.start : rank.trace.calls[call].start);
    measured.add_work(step, recorded.end);
    if (seen.work[work].start >= 0) {
      simulated.add_work(step, seen.work[work].end);
    }
  }
  for (const auto& [correlation, added] : seen.added) {
    simulated.add_work(step_of_launch<double>(simulated_starts, seen.calls.at(correlation)), added.end);
  }
  const auto recorded_steps = measured.steps();
  const auto simulated_steps = simulated.steps();
  std::vector<StepPair> pairs;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    pairs.push_back({rank.trace.names.text(rank.trace.operators[marks[i]].name),
                     {in_seconds(recorded_steps[i].begin - rank.begin), simulated_steps[i].begin},
                     {in_seconds(recorded_steps[i].end - rank.begin), simulated_steps[i].end}});
  }
  return pairs;
}

}  // namespace lockstep::replay
