#pragma once

/// @file
/// One step of a few ranks, as the page's own timeline draws it.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/job.hpp"
#include "sim/critical_path.hpp"
#include "sim/timeline.hpp"
#include "traces/memory_recorder.hpp"

namespace lockstep {

/// Keeps the spans of the last step of at most eight ranks, and writes them as JSON. Of a rank with more
/// spans than its part of the budget the shortest are left out, and the JSON says so.
class PageTimeline final : public TimelineSink {
 public:
  static constexpr std::size_t kMostRanks = 8;
  static constexpr std::size_t kMostSpans = 96'000;  ///< of all ranks: 2 MB of JSON

  /// @param job checked; must outlive this
  /// @param differ numbers of ranks that may be shown, those that differ; spread evenly where there are more
  PageTimeline(const Job& job, std::span<const std::uint32_t> differ);

  void write(std::span<const TimelineSpan> spans) override;

  /// Adds the lanes and times to what is shown of the critical path.
  void light(std::span<const PathPiece> path) { path_ = {path.begin(), path.end()}; }

  /// Adds what the ranks that are shown hold over the last step.
  void hold(std::vector<MemoryCourse> memory) { memory_ = std::move(memory); }

  /// {names, step_start, step_end, job_ranks, ranks: [{rank, lanes: [{name, gpu, spans, path}], left_out,
  /// shorter_than}], memory: page_memory_json()}. Times are whole nanoseconds. `spans` is flat: start from
  /// the one before, duration, name, and on a GPU's lane the part of the duration in which a collective
  /// waits. `path` likewise: start from the one before, duration.
  /// @param step_ends SimulationResult::step_ends
  [[nodiscard]] std::string json(std::span<const double> step_ends) const;

 private:
  struct ShownRank {
    std::uint32_t rank = 0;
    std::vector<TimelineSpan> spans;
    std::size_t left_out = 0;  ///< because memory is bounded
  };

  const Job& job_;
  std::uint32_t step_;
  std::vector<ShownRank> ranks_;
  std::vector<std::int32_t> shown_as_;  ///< by rank: number in ranks_; -1: not shown
  std::vector<PathPiece> path_;
  std::vector<MemoryCourse> memory_;
};

/// Passes spans on to several.
class TimelineTee final : public TimelineSink {
 public:
  void add(TimelineSink& sink) { sinks_.push_back(&sink); }
  void write(std::span<const TimelineSpan> spans) override {
    for (TimelineSink* const sink : sinks_) {
      sink->write(spans);
    }
  }

 private:
  std::vector<TimelineSink*> sinks_;
};

}  // namespace lockstep
