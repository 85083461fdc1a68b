#include "traces/memory_recorder.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::size_t kLeastLevels = 64;

bool is_at(const ProgramPosition& a, const ProgramPosition& b) {
  return a.thread == b.thread && a.instruction == b.instruction;
}

/// Host spans that stand for an instruction; a range arrives after what is in it.
bool is_instruction_of_host(const TimelineSpan& span) {
  return span.kind == SpanKind::HostWork || span.kind == SpanKind::Runtime || span.kind == SpanKind::HostWait;
}

}  // namespace

MemoryRecorder::MemoryRecorder(const Job& job, const MemoryRecorderOptions& options)
    : job_{job}, first_step_{options.first_step}, recorded_as_(job.ranks.size(), -1) {
  if (job.memory_changes.empty() || options.ranks.empty()) {
    return;
  }
  const std::size_t steps = static_cast<std::size_t>(job.steps) - first_step_;
  const std::size_t most = std::max(kLeastLevels, options.levels / (options.ranks.size() * steps));
  steps_.resize(job.memory_changes.size());
  for (const std::uint32_t rank : options.ranks) {
    const std::uint32_t memory = job.ranks[rank].memory;
    Step& step = steps_[memory];
    if (step.levels.empty()) {
      step = step_of(job.memory_changes[memory], options.besides[memory], most);
    }
    recorded_as_[rank] = static_cast<std::int32_t>(ranks_.size());
    const std::size_t threads = job.programs[job.ranks[rank].program]->threads.size();
    ranks_.push_back({.rank = rank,
                      .memory = memory,
                      .threads = std::vector<Cursor>(threads),
                      .dates = std::vector<double>(step.levels.size() * steps, -1)});
  }
}

MemoryRecorder::Step MemoryRecorder::step_of(std::span<const MemoryChange> changes,
                                             const MemoryBreakdown& besides, std::size_t most) {
  // Bounds of the parts that become two levels each: changes at one place, or as many as are too many.
  const std::size_t together = (2 * changes.size() + most - 1) / most;
  Step step;
  MemoryBreakdown now;
  const auto level_of = [&](const MemoryChange& change) {
    Level level{change.at, now};
    level.held[MemoryUse::Context] += besides[MemoryUse::Context];
    level.held[MemoryUse::Fragmentation] += besides[MemoryUse::Fragmentation];
    return level;
  };
  for (std::size_t i = 0; i < changes.size();) {
    const std::size_t first = i;
    Level highest, last;
    double height = -1;
    for (; i < changes.size() &&
           (i == first || i - first < together || is_at(changes[i].at, changes[i - 1].at));
         ++i) {
      now[changes[i].use] += changes[i].bytes;
      last = level_of(changes[i]);
      if (now.total().in_base_units() > height) {
        height = now.total().in_base_units();
        highest = last;
      }
    }
    step.levels.push_back(highest);
    if (last.held.bytes != highest.held.bytes) {
      step.levels.push_back(last);
    }
  }
  for (std::uint32_t number = 0; number < step.levels.size(); ++number) {
    const ProgramPosition& at = step.levels[number].at;
    step.of_thread.resize(std::max<std::size_t>(step.of_thread.size(), at.thread + std::size_t{1}));
    step.of_thread[at.thread].push_back(number);
  }
  for (std::vector<std::uint32_t>& numbers : step.of_thread) {
    std::ranges::stable_sort(numbers, {},
                             [&](std::uint32_t number) { return step.levels[number].at.instruction; });
  }
  return step;
}

void MemoryRecorder::write(std::span<const TimelineSpan> spans) {
  for (const TimelineSpan& span : spans) {
    if (span.step >= first_step_ && recorded_as_[span.rank] >= 0 && is_instruction_of_host(span)) {
      advance(ranks_[static_cast<std::size_t>(recorded_as_[span.rank])], span);
    }
  }
}

void MemoryRecorder::advance(RecordedRank& rank, const TimelineSpan& span) {
  const Step& step = steps_[rank.memory];
  if (span.thread >= step.of_thread.size()) {
    return;
  }
  const std::vector<std::uint32_t>& numbers = step.of_thread[span.thread];
  Cursor& cursor = rank.threads[span.thread];
  const auto reach = [&](std::uint32_t of_step, double date) {
    rank.dates[(of_step - first_step_) * step.levels.size() + numbers[cursor.next++]] = date;
  };
  if (span.step != cursor.step) {
    while (cursor.step >= first_step_ && cursor.next < numbers.size()) {
      reach(cursor.step, span.start);  // behind the last instruction of the step before
    }
    cursor = {span.step, 0};
  }
  while (cursor.next < numbers.size() &&
         step.levels[numbers[cursor.next]].at.instruction <= span.instruction) {
    reach(cursor.step, span.start);
  }
}

std::vector<MemoryCourse> MemoryRecorder::courses() const {
  std::vector<MemoryCourse> courses;
  for (const RecordedRank& rank : ranks_) {
    const std::vector<Level>& levels = steps_[rank.memory].levels;
    MemoryCourse course{.rank = rank.rank, .levels = {}};
    double date = -1;
    for (std::size_t i = 0; i < rank.dates.size(); ++i) {
      date =
          std::max(date, rank.dates[i]);  // what a thread does not reach alone happens with what was before
      if (i + levels.size() == rank.dates.size()) {
        course.last_step = course.levels.size();
      }
      if (date >= 0) {
        course.levels.push_back({date, levels[i % levels.size()].held});
      }
    }
    if (!course.levels.empty()) {
      courses.push_back(std::move(course));
    }
  }
  std::ranges::sort(courses, {}, &MemoryCourse::rank);
  return courses;
}

}  // namespace lockstep
