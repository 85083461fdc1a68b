#include <algorithm>
#include <unordered_map>

#include "traces/replay/waits.hpp"

namespace lockstep::replay {
namespace {

using kineto::Call;
using kineto::CallKind;
using kineto::RecordedTrace;
using kineto::WorkKind;

constexpr Oddity kNoWait{"synchronisation that waited for nothing",
                         "what it waits for had ended before: it costs its own time"};
constexpr Oddity kTimedSync{
    "event or stream synchronisation found by its times",
    "the trace does not say which; taken to wait for the work that ends last within it", Severity::Guess};
constexpr Oddity kMemoryWait{"allocation that waited for the device",
                             "cudaMalloc or cudaFree that ends with the last work of the device",
                             Severity::Guess};

/// A call that waits returns so soon after the end of what it waits for (Lin et al. measured 10 to 20 us on
/// V100; the longest in ../shared/data/traces is 160 us, of a cudaFree).
constexpr Nanoseconds kReturn = 200'000;
/// Clocks of host and GPU differ by so much at most (../shared/reference/trace_formats.md: 5 to 50 us).
constexpr Nanoseconds kSkew = 60'000;
/// An allocation that takes less does not wait.
constexpr Nanoseconds kAllocation = 50'000;

class HostWaitSearch {
 public:
  HostWaitSearch(RecordedTrace& trace, const TraceLinks& links) : trace_{trace}, links_{links} {
    for (std::uint32_t i = 0; i < trace.syncs.size(); ++i) {
      sync_of_.emplace(trace.syncs[i].correlation, i);
    }
    for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
      call_of_.emplace(trace.calls[i].correlation, i);
    }
  }

  std::vector<HostWait> run() {
    std::vector<HostWait> found;
    for (std::uint32_t i = 0; i < trace_.calls.size(); ++i) {
      HostWait wait = of(i);
      if (wait.work == kNone && !wait.on_device) {
        continue;
      }
      wait.thread = trace_.calls[i].thread;
      wait.call = i;
      wait.begin = trace_.calls[i].start;
      wait.end = trace_.calls[i].end;
      found.push_back(wait);
    }
    return found;
  }

 private:
  HostWait of(std::uint32_t index) {
    switch (trace_.calls[index].kind) {
      case CallKind::DeviceSync:
        return {.on_device = true};
      case CallKind::StreamSync:
        return of_stream(index);
      case CallKind::EventSync:
        return of_event(index);
      case CallKind::Launch:
        return of_copy(index);
      case CallKind::Memory:
        return of_memory(index);
      default:
        return {};
    }
  }

  HostWait of_stream(std::uint32_t index) {
    const Call& call = trace_.calls[index];
    std::uint32_t lane = kNone;
    if (const auto sync = sync_of_.find(call.correlation); sync != sync_of_.end()) {
      lane = lane_of(trace_.syncs[sync->second].stream);
    }
    if (lane == kNone) {
      lane = lane_of_copy_before(index);
    }
    if (lane == kNone) {
      return by_times(index);
    }
    return {.work = ended_by(lane, call), .evidence = Evidence::Implied};
  }

  HostWait of_event(std::uint32_t index) {
    const Call& call = trace_.calls[index];
    if (const auto sync = sync_of_.find(call.correlation); sync != sync_of_.end()) {
      const auto record = call_of_.find(trace_.syncs[sync->second].record_correlation);
      const std::uint32_t lane = lane_of(trace_.syncs[sync->second].awaited_stream);
      if (record != call_of_.end() && lane != kNone) {
        return {.work = latest_issued(links_, lane, trace_.calls[record->second].start),
                .evidence = Evidence::Recorded};
      }
    }
    return by_times(index);
  }

  /// A copy from or to pageable memory returns when it is over.
  HostWait of_copy(std::uint32_t index) const {
    if (links_.works[index].empty()) {
      return {};
    }
    const std::uint32_t work = links_.works[index].front();
    const Call& call = trace_.calls[index];
    const kineto::Work& copy = trace_.work[work];
    const bool is_pinned = trace_.names.text(copy.name).find("Pinned") != std::string::npos;
    const bool waits = copy.kind == WorkKind::Memcpy && !is_pinned && copy.end <= call.end;
    return waits ? HostWait{.work = work} : HostWait{};
  }

  HostWait of_memory(std::uint32_t index) {
    const Call& call = trace_.calls[index];
    if (call.end - call.start < kAllocation) {
      return {};
    }
    Nanoseconds latest = 0;
    for (std::uint32_t lane = 0; lane < links_.lanes.size(); ++lane) {
      const std::uint32_t work = latest_issued(links_, lane, call.start);
      latest = work == kNone ? latest : std::max(latest, trace_.work[work].end);
    }
    if (latest <= call.start || latest > call.end || call.end - latest > kReturn) {
      return {};
    }
    trace_.report.add(kMemoryWait, trace_.names.text(call.name));
    return {.on_device = true, .evidence = Evidence::Timed};
  }

  /// The work, issued before the call, that ends last within it.
  HostWait by_times(std::uint32_t index) {
    const Call& call = trace_.calls[index];
    std::uint32_t best = kNone;
    for (std::uint32_t lane = 0; lane < links_.lanes.size(); ++lane) {
      const std::uint32_t work = ended_by(lane, call);
      if (work != kNone && trace_.work[work].end > call.start &&
          (best == kNone || trace_.work[work].end > trace_.work[best].end)) {
        best = work;
      }
    }
    if (best == kNone || call.end - trace_.work[best].end > kReturn) {
      trace_.report.add(kNoWait, trace_.names.text(call.name));
      return {};
    }
    trace_.report.add(kTimedSync, trace_.names.text(call.name));
    return {.work = best, .evidence = Evidence::Timed};
  }

  /// The latest work on @p lane that was issued before the call and over when it returned.
  [[nodiscard]] std::uint32_t ended_by(std::uint32_t lane, const Call& call) const {
    std::uint32_t work = latest_issued(links_, lane, call.start);
    while (work != kNone && trace_.work[work].end > call.end + kSkew) {
      work = work == links_.lanes[lane].first ? kNone : work - 1;
    }
    return work;
  }

  [[nodiscard]] std::uint32_t lane_of(std::int32_t stream) const {
    const auto lane = std::ranges::find_if(links_.lanes, [&](const Lane& l) { return l.stream == stream; });
    return lane == links_.lanes.end() ? kNone : static_cast<std::uint32_t>(lane - links_.lanes.begin());
  }

  /// cudaStreamSynchronize right after a copy, as .item() and .to() make it: the copy's stream.
  [[nodiscard]] std::uint32_t lane_of_copy_before(std::uint32_t index) const {
    if (index == 0 || trace_.calls[index - 1].thread != trace_.calls[index].thread ||
        links_.works[index - 1].empty()) {
      return kNone;
    }
    const std::uint32_t work = links_.works[index - 1].back();
    return trace_.work[work].kind == WorkKind::Memcpy ? links_.lane_of_work[work] : kNone;
  }

  RecordedTrace& trace_;
  const TraceLinks& links_;
  std::unordered_map<std::int64_t, std::uint32_t> sync_of_, call_of_;  // by correlation
};

}  // namespace

std::vector<HostWait> find_host_waits(RecordedTrace& trace, const TraceLinks& links) {
  return HostWaitSearch{trace, links}.run();
}

}  // namespace lockstep::replay
