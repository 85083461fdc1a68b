#pragma once

/// @file
/// What a timeline owes its readers, whatever the job.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/simulation.hpp"
#include "sim/timeline.hpp"

namespace lockstep::testing {

/// Length of the union of intervals.
inline double covered(std::vector<std::pair<double, double>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  double total = 0;
  double until = 0;
  for (const auto& [start, end] : intervals) {
    total += std::max(0.0, end - std::max(start, until));
    until = std::max(until, end);
  }
  return total;
}

/// The first thing that is wrong with the spans of a run without ranges; empty: nothing.
///   - spans of a lane follow each other, without overlap
///   - what runs on a GPU was launched before, and everything launched ran
///   - the time of each kind adds up to the streams' totals, the union to the metered activity
///   - the last span ends with the run
inline std::string complaint_about(const std::vector<TimelineSpan>& spans, const SimulationResult& result) {
  constexpr double kRounding = 1e-9;                          // s
  std::map<std::pair<std::uint32_t, int>, double> lane_ends;  // host threads count from 256
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const TimelineSpan*>> by_correlation;
  std::map<std::pair<std::uint32_t, std::uint8_t>, double> running;
  std::vector<std::vector<std::pair<double, double>>> busy(result.ranks.size());
  double last = 0;
  for (const TimelineSpan& span : spans) {
    const bool on_gpu = span.kind == SpanKind::Kernel || span.kind == SpanKind::Collective;
    double& lane_end = lane_ends[{span.rank, on_gpu ? span.stream : 256 + span.thread}];
    if (span.start < lane_end || span.end < span.start) {
      return fmt::format("rank {}: a span from {} to {} after one until {}", span.rank, span.start, span.end,
                         lane_end);
    }
    lane_end = span.end;
    last = std::max(last, span.end);
    if (span.correlation != 0) {
      by_correlation[{span.rank, span.correlation}].push_back(&span);
    }
    if (on_gpu) {
      running[{span.rank, span.stream}] += span.end - span.start;
      busy[span.rank].emplace_back(span.start, span.end);
    }
  }
  for (auto& [key, pair] : by_correlation) {
    // lanes are in order of time, but a launch may be told after what it launched
    std::sort(pair.begin(), pair.end(), [](auto* x, auto* y) { return x->kind < y->kind; });
    const bool fits = pair.size() == 2 && pair[0]->kind == SpanKind::Runtime &&
                      pair[1]->kind > SpanKind::HostWait && pair[1]->start >= pair[0]->end &&
                      pair[1]->stream == pair[0]->stream && pair[1]->instruction == pair[0]->instruction;
    if (!fits) {
      return fmt::format("rank {}: correlation {} has {} spans, or those do not fit", key.first, key.second,
                         pair.size());
    }
  }
  for (std::uint32_t rank = 0; rank < result.ranks.size(); ++rank) {
    for (std::size_t stream = 0; stream < result.ranks[rank].streams.size(); ++stream) {
      const StreamTotals& totals = result.ranks[rank].streams[stream];
      const double total = totals.compute + totals.copy + totals.waiting + totals.transfer;
      if (std::abs(total - running[{rank, static_cast<std::uint8_t>(stream)}]) > kRounding) {
        return fmt::format("rank {}, stream {}: totals say {}", rank, stream, total);
      }
    }
  }
  for (const MeteredRank& metered : result.metered) {
    const double expected = covered(busy[metered.rank]);
    if (std::abs(metered.activity.busy() - expected) > kRounding) {
      return fmt::format("rank {} was busy for {}, metered {}", metered.rank, expected,
                         metered.activity.busy());
    }
  }
  if (last != result.makespan().in_base_units()) {
    return fmt::format("the last span ends at {}, the run at {}", last, result.makespan().in_base_units());
  }
  return {};
}

}  // namespace lockstep::testing
