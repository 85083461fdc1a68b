#include <algorithm>
#include <unordered_map>

#include "traces/replay/waits.hpp"

namespace lockstep::replay {
namespace {

using kineto::CallKind;
using kineto::RecordedTrace;

constexpr Oddity kRecordedWait{"stream wait named by the trace",
                               "CUPTI's records say which work it waits for"};
constexpr Oddity kTimedWait{"stream wait found by its times",
                            "the work it holds up begins within 10 us of the end of that work",
                            Severity::Guess};
constexpr Oddity kAssumedWait{
    "stream wait assumed",
    "as PyTorch orders streams: communication waits for the compute stream, compute "
    "for the oldest communication not yet waited for",
    Severity::Guess};
constexpr Oddity kIdleWait{"stream wait for nothing in the window",
                           "what it waits for had ended, or is not in the trace; left out"};

/// A start so soon after an end was held up by it: between kernels of a stream the traces of
/// ../shared/data/traces have 1 to 4 us, across streams 2 to 8.
constexpr Nanoseconds kSoon = 10'000;

class StreamWaitSearch {
 public:
  StreamWaitSearch(RecordedTrace& trace, const TraceLinks& links, const std::vector<bool>& is_communication)
      : trace_{trace}, links_{links}, communicates_{is_communication}, waited_(links.lanes.size(), kNone) {
    for (std::uint32_t i = 0; i < trace.syncs.size(); ++i) {
      sync_of_.emplace(trace.syncs[i].correlation, i);
    }
    for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
      call_of_.emplace(trace.calls[i].correlation, i);
    }
  }

  std::vector<StreamWait> run() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < trace_.calls.size(); ++i) {
      if (trace_.calls[i].kind == CallKind::StreamWait) {
        order.push_back(i);
      }
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t call) { return trace_.calls[call].start; });
    std::vector<StreamWait> found;
    for (const std::uint32_t call : order) {
      const StreamWait wait = of(call);
      if (wait.work == kNone) {
        trace_.report.add(kIdleWait, operator_name(trace_, links_, call));
        continue;
      }
      note(wait);
      std::uint32_t& waited = waited_[links_.lane_of_work[wait.work]];
      waited = waited == kNone ? wait.work : std::max(waited, wait.work);
      found.push_back(wait);
    }
    std::ranges::sort(found, {}, &StreamWait::call);
    return found;
  }

 private:
  void note(const StreamWait& wait) {
    const Oddity& kind = wait.evidence == Evidence::Recorded ? kRecordedWait
                         : wait.evidence == Evidence::Timed  ? kTimedWait
                                                             : kAssumedWait;
    trace_.report.add(kind, operator_name(trace_, links_, wait.call));
  }

  StreamWait of(std::uint32_t call) const {
    if (const auto sync = sync_of_.find(trace_.calls[call].correlation); sync != sync_of_.end()) {
      const StreamWait recorded = as_recorded(call, trace_.syncs[sync->second]);
      if (recorded.work != kNone) {
        return recorded;
      }
    }
    const std::uint32_t held_up = next_launch(call);
    if (held_up == kNone) {
      return {};
    }
    StreamWait wait{call, links_.lane_of_work[held_up], kNone, Evidence::Timed};
    wait.work = ends_just_before(call, held_up);
    if (wait.work == kNone) {
      wait.evidence = Evidence::Assumed;
      wait.work = communicates_[held_up] ? latest_computed(call, held_up) : oldest_unwaited(call, held_up);
    }
    return wait;
  }

  StreamWait as_recorded(std::uint32_t call, const kineto::CudaSync& sync) const {
    StreamWait wait{call, lane_of(sync.stream), kNone, Evidence::Recorded};
    const std::uint32_t awaited = lane_of(sync.awaited_stream);
    const auto record = call_of_.find(sync.record_correlation);
    if (wait.lane == kNone || awaited == kNone || record == call_of_.end() || awaited == wait.lane) {
      return {};
    }
    wait.work = latest_issued(links_, awaited, trace_.calls[record->second].start);
    return wait;
  }

  [[nodiscard]] std::uint32_t lane_of(std::int32_t stream) const {
    const auto lane = std::ranges::find_if(links_.lanes, [&](const Lane& l) { return l.stream == stream; });
    return lane == links_.lanes.end() ? kNone : static_cast<std::uint32_t>(lane - links_.lanes.begin());
  }

  /// The first work that the same thread launches afterwards: waits are made for what comes next.
  [[nodiscard]] std::uint32_t next_launch(std::uint32_t call) const {
    for (std::uint32_t i = call + 1;
         i < trace_.calls.size() && trace_.calls[i].thread == trace_.calls[call].thread; ++i) {
      if (!links_.works[i].empty()) {
        return links_.works[i].front();
      }
    }
    return kNone;
  }

  [[nodiscard]] bool may_hold_up(std::uint32_t work, std::uint32_t held_up) const {
    return work != kNone && trace_.work[work].end <= trace_.work[held_up].start + kSoon &&
           trace_.work[work].device == trace_.work[held_up].device;
  }

  /// The work of another stream whose end lets @p held_up begin, where its own stream was free before.
  [[nodiscard]] std::uint32_t ends_just_before(std::uint32_t call, std::uint32_t held_up) const {
    const std::uint32_t own = links_.lane_of_work[held_up];
    const Nanoseconds start = trace_.work[held_up].start;
    const bool first = held_up == links_.lanes[own].first;
    if ((!first && start - trace_.work[held_up - 1].end < kSoon) || start - links_.issued[held_up] < kSoon) {
      return kNone;
    }
    std::uint32_t best = kNone;
    for (std::uint32_t lane = 0; lane < links_.lanes.size(); ++lane) {
      const std::uint32_t work = lane == own ? kNone : latest_over(lane, call, held_up);
      if (may_hold_up(work, held_up) && start - trace_.work[work].end < kSoon &&
          (best == kNone || trace_.work[work].end > trace_.work[best].end)) {
        best = work;
      }
    }
    return best;
  }

  /// The latest work issued to a lane. Events of communication are recorded behind each: who waits for one
  /// does not wait for those behind it, that cannot have been over.
  [[nodiscard]] std::uint32_t latest_over(std::uint32_t lane, std::uint32_t call,
                                          std::uint32_t held_up) const {
    std::uint32_t work = latest_issued(links_, lane, trace_.calls[call].start);
    while (work != kNone && communicates_[work] && !may_hold_up(work, held_up)) {
      work = work == links_.lanes[lane].first ? kNone : work - 1;
    }
    return work;
  }

  /// The latest work of the stream that the thread launched on before, other than communication.
  [[nodiscard]] std::uint32_t latest_computed(std::uint32_t call, std::uint32_t held_up) const {
    for (std::uint32_t i = call; i-- > 0 && trace_.calls[i].thread == trace_.calls[call].thread;) {
      if (links_.works[i].empty()) {
        continue;
      }
      const std::uint32_t work = links_.works[i].back();
      if (!communicates_[work] && links_.lane_of_work[work] != links_.lane_of_work[held_up]) {
        const std::uint32_t latest =
            latest_issued(links_, links_.lane_of_work[work], trace_.calls[call].start);
        return may_hold_up(latest, held_up) ? latest : kNone;
      }
    }
    return kNone;
  }

  /// The oldest communication that nobody has waited for, else the oldest of other streams' latest copies.
  [[nodiscard]] std::uint32_t oldest_unwaited(std::uint32_t call, std::uint32_t held_up) const {
    std::uint32_t best = kNone;
    for (std::uint32_t lane = 0; lane < links_.lanes.size(); ++lane) {
      const std::uint32_t latest = lane == links_.lane_of_work[held_up]
                                       ? kNone
                                       : latest_issued(links_, lane, trace_.calls[call].start);
      if (latest == kNone || (waited_[lane] != kNone && waited_[lane] >= latest)) {
        continue;
      }
      std::uint32_t oldest = waited_[lane] == kNone ? links_.lanes[lane].first : waited_[lane] + 1;
      oldest = communicates_[latest] ? oldest : latest;
      if (may_hold_up(oldest, held_up) &&
          (best == kNone || std::pair{!communicates_[oldest], trace_.work[oldest].start} <
                                std::pair{!communicates_[best], trace_.work[best].start})) {
        best = oldest;
      }
    }
    return best;
  }

  RecordedTrace& trace_;
  const TraceLinks& links_;
  const std::vector<bool>& communicates_;
  std::vector<std::uint32_t> waited_;  // by lane: the latest work that somebody waited for
  std::unordered_map<std::int64_t, std::uint32_t> sync_of_, call_of_;  // by correlation
};

}  // namespace

std::vector<StreamWait> find_stream_waits(RecordedTrace& trace, const TraceLinks& links,
                                          const std::vector<bool>& is_communication) {
  return StreamWaitSearch{trace, links, is_communication}.run();
}

}  // namespace lockstep::replay
