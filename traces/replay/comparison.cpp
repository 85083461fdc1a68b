#include "traces/replay/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

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

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

/// When a step has ended on all ranks; @p step counts from 0.
Pair end_of(const std::vector<RankComparison>& ranks, std::size_t step) {
  Pair end = ranks.front().steps[step].end;
  for (const RankComparison& rank : ranks) {
    end = {std::max(end.measured, rank.steps[step].end.measured),
           std::max(end.simulated, rank.steps[step].end.simulated)};
  }
  return end;
}

Pair first_begin(const std::vector<RankComparison>& ranks) {
  Pair begin = ranks.front().steps.front().begin;
  for (const RankComparison& rank : ranks) {
    begin = {std::min(begin.measured, rank.steps.front().begin.measured),
             std::min(begin.simulated, rank.steps.front().begin.simulated)};
  }
  return begin;
}

bool is_timed(const std::vector<RankComparison>& ranks, std::size_t step) {
  return std::ranges::all_of(ranks, [&](const RankComparison& rank) { return rank.steps[step].is_timed; });
}

/// The mean of the timed steps; empty: none or all are.
std::optional<Pair> mean_of_timed(const std::vector<RankComparison>& ranks) {
  Pair sum;
  std::size_t count = 0;
  const std::size_t steps = ranks.front().steps.size();
  for (std::size_t step = 0; step < steps; ++step) {
    if (is_timed(ranks, step)) {
      const Pair begin = step == 0 ? first_begin(ranks) : end_of(ranks, step - 1);
      const Pair end = end_of(ranks, step);
      sum = {sum.measured + end.measured - begin.measured, sum.simulated + end.simulated - begin.simulated};
      ++count;
    }
  }
  const auto number = static_cast<double>(count);
  return count == 0 || count == steps ? std::nullopt
                                      : std::optional{Pair{sum.measured / number, sum.simulated / number}};
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
  if (steps > 0) {
    if (const auto timed = mean_of_timed(ranks)) {
      return *timed;
    }
    mean = end_of(ranks, steps - 1);
  }
  for (const RankComparison& rank : ranks) {
    if (steps == 0) {
      mean = {std::max(mean.measured, rank.last_end.measured),
              std::max(mean.simulated, rank.last_end.simulated)};
    }
  }
  const Pair begin = steps == 0 ? Pair{} : first_begin(ranks);
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
  const std::vector<kineto::RecordedStep> marks = kineto::recorded_steps(rank.trace);
  std::vector<Nanoseconds> starts;
  StepEnds<Nanoseconds> measured{marks.size()};
  for (const kineto::RecordedStep& mark : marks) {
    starts.push_back(mark.start);
    measured.add_range(starts.size(), mark.start, mark.end);
  }
  const std::vector<Span> ranges = simulated_ranges(marks, seen);
  std::vector<double> simulated_starts;
  StepEnds<double> simulated{marks.size()};
  for (const Span& range : ranges) {
    simulated_starts.push_back(range.start);
    simulated.add_range(simulated_starts.size(), range.start, range.end);
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
    pairs.push_back({marks[i].name,
                     {in_seconds(recorded_steps[i].begin - rank.begin), simulated_steps[i].begin},
                     {in_seconds(recorded_steps[i].end - rank.begin), simulated_steps[i].end},
                     marks[i].is_timed,
                     marks[i].lost_work > 0,
                     marks[i].is_whole() ? "" : kineto::missing_in_words(marks[i])});
  }
  return pairs;
}

/// Steps' ranges in the simulation; a lost one gets what the ones around it leave.
std::vector<ReplayObserver::Span> ReplayObserver::simulated_ranges(
    const std::vector<kineto::RecordedStep>& marks, const Rank& seen) {
  std::vector<Span> ranges(marks.size());
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].range != kineto::kNoRange) {
      ranges[i] = seen.operators[marks[i].range];
      continue;
    }
    const auto next = std::find_if(marks.begin() + static_cast<std::ptrdiff_t>(i), marks.end(),
                                   [](const auto& mark) { return mark.range != kineto::kNoRange; });
    const double before = i == 0 ? 0 : ranges[i - 1].end;
    ranges[i].start = before;
    ranges[i].end = next == marks.end() ? before : std::max(before, seen.operators[next->range].start);
  }
  return ranges;
}

}  // namespace lockstep::replay
