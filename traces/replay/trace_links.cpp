#include "traces/replay/trace_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace lockstep::replay {
namespace {

using kineto::Call;
using kineto::CallKind;
using kineto::Operator;
using kineto::RecordedTrace;
using kineto::Work;

constexpr Oddity kOrphan{"GPU work without a launch",
                         "launched before the window or by a thread that was not traced; queued at the start "
                         "of the window, or behind the work before it",
                         Severity::Guess};
constexpr Oddity kNothing{"launch without GPU work", "what it launched ran after the window; left out"};
constexpr Oddity kMissing{
    "launch whose GPU work has no record",
    "it ran within the window, as a later wait for the device or a later launch with work "
    "shows, but the profiler lost it: GPU times and what-ifs of its step are not to be "
    "trusted",
    Severity::Warning};
constexpr Oddity kNoMemset{"memset or copy without a record", "the profiler leaves out some; left out"};
constexpr Oddity kSkew{
    "clock of the GPU behind the host's",
    "some work seems to begin before its launch; all times of the GPU are moved by so much"};
constexpr Oddity kEarly{"GPU work long before its launch", "it is taken to begin with its launch",
                        Severity::Warning};
constexpr Oddity kTwice{"correlation used twice", "two calls claim the same work; the first one counts",
                        Severity::Warning};
constexpr Oddity kGraph{"graph launch", "one call launches many kernels; they keep their order by stream"};

/// Clocks of host and GPU were seen to differ by 5 to 50 us (../shared/reference/trace_formats.md).
constexpr Nanoseconds kMostSkew = 500'000;

void find_lanes(const RecordedTrace& trace, TraceLinks& links) {
  links.lane_of_work.resize(trace.work.size());
  for (std::uint32_t i = 0; i < trace.work.size(); ++i) {
    const Work& work = trace.work[i];
    if (links.lanes.empty() || links.lanes.back().device != work.device ||
        links.lanes.back().stream != work.stream) {
      links.lanes.push_back({work.device, work.stream, i, i});
    }
    links.lanes.back().last = i + 1;
    links.lane_of_work[i] = static_cast<std::uint32_t>(links.lanes.size() - 1);
  }
}

bool launches(const Call& call) {
  return call.kind == CallKind::Launch || call.kind == CallKind::GraphLaunch;
}

void find_launches(RecordedTrace& trace, TraceLinks& links) {
  std::unordered_map<std::int64_t, std::uint32_t> call_of;
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    if (launches(trace.calls[i]) && trace.calls[i].correlation >= 0 &&
        !call_of.emplace(trace.calls[i].correlation, i).second) {
      trace.report.add(kTwice, trace.names.text(trace.calls[i].name));
    }
  }
  links.call_of_work.assign(trace.work.size(), kNone);
  links.works.resize(trace.calls.size());
  for (std::uint32_t i = 0; i < trace.work.size(); ++i) {
    const auto call = call_of.find(trace.work[i].correlation);
    if (call == call_of.end()) {
      trace.report.add(kOrphan, trace.names.text(trace.work[i].name));
      continue;
    }
    links.call_of_work[i] = call->second;
    links.works[call->second].push_back(i);
  }
}

/// GPU work cannot begin before the call that launches it: where it seems to, the GPU's clock lags by at
/// least as much, and all its times are moved.
void correct_clock(RecordedTrace& trace, const TraceLinks& links) {
  Nanoseconds behind = 0;
  for (std::uint32_t i = 0; i < trace.work.size(); ++i) {
    const std::uint32_t call = links.call_of_work[i];
    const Nanoseconds early = call == kNone ? 0 : trace.calls[call].start - trace.work[i].start;
    behind = early > kMostSkew ? behind : std::max(behind, early);
  }
  if (behind == 0) {
    return;
  }
  for (Work& work : trace.work) {
    work.start += behind;
    work.end += behind;
  }
  trace.report.add(kSkew, fmt::format("{} us", static_cast<double>(behind) / 1000));
}

/// Memsets, and copies of no bytes or between hosts, often have no record: nothing is wrong then.
bool may_lack_record(const std::string& call) {
  return call.find("Memset") != std::string::npos || call.find("Memcpy") != std::string::npos;
}

/// The time from which a launch without GPU work may be one whose work ran after the window. It is behind the
/// last launch that has work, and the last wait for the device.
Nanoseconds end_of_recording(const RecordedTrace& trace, const TraceLinks& links) {
  Nanoseconds end = std::numeric_limits<Nanoseconds>::min();
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    const Call& call = trace.calls[i];
    const bool shows = call.kind == CallKind::DeviceSync || (launches(call) && !links.works[i].empty());
    end = shows ? std::max(end, call.start) : end;
  }
  return end;
}

/// A launch whose work is not in the trace.
void note_missing(RecordedTrace& trace, const Call& call, Nanoseconds end) {
  const std::string& name = trace.names.text(call.name);
  const bool is_told = std::ranges::any_of(trace.lost, [&](const kineto::LostEvent& lost) {
    return lost.kind == kineto::LostEvent::Kind::Work && lost.correlation == call.correlation;
  });
  if (call.start >= end) {
    trace.report.add(kNothing, name);
  } else if (may_lack_record(name)) {
    trace.report.add(kNoMemset, name);
  } else if (!is_told) {
    trace.report.add(kMissing, name);
    trace.lost.push_back({kineto::LostEvent::Kind::Work, call.name, call.start, call.correlation,
                          trace.threads[call.thread].pid, "thread " + trace.threads[call.thread].tid});
  }
}

void note_oddities(RecordedTrace& trace, TraceLinks& links) {
  const Nanoseconds end = end_of_recording(trace, links);
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    std::vector<std::uint32_t>& works = links.works[i];
    std::ranges::sort(works, {}, [&](std::uint32_t work) { return trace.work[work].start; });
    const Call& call = trace.calls[i];
    if (launches(call) && works.empty()) {
      note_missing(trace, call, end);
    } else if (works.size() > 1) {
      trace.report.add(kGraph, trace.names.text(call.name));
    }
    if (!works.empty() && trace.work[works.front()].start < call.start) {
      trace.report.add(kEarly, trace.names.text(trace.work[works.front()].name));
    }
  }
}

void find_issues(const RecordedTrace& trace, TraceLinks& links) {
  links.issued.resize(trace.work.size());
  for (const Lane& lane : links.lanes) {
    Nanoseconds latest = 0;
    for (std::uint32_t i = lane.first; i < lane.last; ++i) {
      const std::uint32_t call = links.call_of_work[i];
      const Nanoseconds own = call == kNone ? latest : trace.calls[call].start;
      links.issued[i] = latest = std::max(latest, own);
    }
  }
}

void find_workers(const RecordedTrace& trace, TraceLinks& links) {
  links.is_worker.assign(trace.threads.size(), false);
  for (const Operator& op : trace.operators) {
    links.is_worker[op.thread] = true;
  }
  for (const Call& call : trace.calls) {
    if (call.kind != CallKind::Other) {
      links.is_worker[call.thread] = true;
    }
  }
}

/// Walks operators and calls of all threads in the order of their starts, with a stack of open operators.
void find_operators(const RecordedTrace& trace, TraceLinks& links) {
  links.operator_of_call.assign(trace.calls.size(), kNone);
  links.parent.assign(trace.operators.size(), kNone);
  std::vector<std::uint32_t> open;
  std::uint32_t thread = kNone;
  std::uint32_t next = 0;
  const auto close = [&](std::uint32_t of, Nanoseconds now) {
    if (of != thread) {
      open.clear();
      thread = of;
    }
    while (!open.empty() && trace.operators[open.back()].end <= now) {
      open.pop_back();
    }
  };
  const auto enter = [&](std::uint32_t index) {
    const Operator& entered = trace.operators[index];
    close(entered.thread, entered.start);
    links.parent[index] = open.empty() ? kNone : open.back();
    open.push_back(index);
  };
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    const Call& call = trace.calls[i];
    while (next < trace.operators.size() &&
           (trace.operators[next].thread < call.thread ||
            (trace.operators[next].thread == call.thread && trace.operators[next].start <= call.start))) {
      enter(next++);
    }
    close(call.thread, call.start);
    links.operator_of_call[i] = open.empty() ? kNone : open.back();
  }
  while (next < trace.operators.size()) {
    enter(next++);
  }
}

}  // namespace

TraceLinks link(RecordedTrace& trace) {
  TraceLinks links;
  find_lanes(trace, links);
  find_launches(trace, links);
  correct_clock(trace, links);
  note_oddities(trace, links);
  find_issues(trace, links);
  find_workers(trace, links);
  find_operators(trace, links);
  return links;
}

std::uint32_t latest_issued(const TraceLinks& links, std::uint32_t lane, Nanoseconds moment) {
  const auto first = links.issued.begin() + links.lanes[lane].first;
  const auto last = links.issued.begin() + links.lanes[lane].last;
  const auto beyond = std::lower_bound(first, last, moment);
  return beyond == first ? kNone : static_cast<std::uint32_t>(beyond - links.issued.begin() - 1);
}

const std::string& operator_name(const RecordedTrace& trace, const TraceLinks& links, std::uint32_t call) {
  const std::uint32_t around = call == kNone ? kNone : links.operator_of_call[call];
  return trace.names.text(around == kNone ? 0 : trace.operators[around].name);
}

}  // namespace lockstep::replay
