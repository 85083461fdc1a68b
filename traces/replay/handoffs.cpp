#include "traces/replay/handoffs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::replay {
namespace {

using kineto::RecordedTrace;
using kineto::WorkKind;

constexpr Oddity kHandoff{"thread that went on when another fell silent",
                          "taken to have waited for it, as forward and autograd's thread do",
                          Severity::Guess};
constexpr Oddity kHidden{"host wait without a record",
                         "a silence that ends with GPU work which nothing follows on its stream, or which "
                         "communicates or copies; taken as a wait for it",
                         Severity::Guess};

constexpr Nanoseconds kSilence = 50'000;         ///< what Python takes between two operators is less
constexpr Nanoseconds kHiddenSilence = 100'000;  ///< shorter waits are not told from Python
constexpr Nanoseconds kLongSilence = 500'000;
constexpr Nanoseconds kWakeUp = 60'000;       ///< from the end of what is waited for until the thread goes on
constexpr Nanoseconds kSlowWakeUp = 500'000;  ///< of another thread: Python's lock may have to change hands

struct Silence {
  std::uint32_t thread = 0;
  Nanoseconds begin = 0, end = 0;
  [[nodiscard]] Nanoseconds length() const { return end - begin; }
};

/// Times, by thread and in order, when anything begins or ends.
using Boundaries = std::vector<std::vector<Nanoseconds>>;

Boundaries boundaries_of(const RecordedTrace& trace, const TraceLinks& links) {
  Boundaries boundaries(trace.threads.size());
  const auto add = [&](const auto& events) {
    for (const auto& event : events) {
      if (!links.is_worker[event.thread]) {
        continue;
      }
      boundaries[event.thread].push_back(event.start);
      boundaries[event.thread].push_back(event.end);
    }
  };
  add(trace.operators);
  add(trace.calls);
  for (auto& of_thread : boundaries) {
    std::ranges::sort(of_thread);
  }
  return boundaries;
}

Nanoseconds start_of_window(const RecordedTrace& trace) {
  Nanoseconds start = std::numeric_limits<Nanoseconds>::max();
  for (const auto& call : trace.calls) {
    start = std::min(start, call.start);
  }
  for (const auto& op : trace.operators) {
    start = std::min(start, op.start);
  }
  return start;
}

class SilenceSearch {
 public:
  SilenceSearch(RecordedTrace& trace, const TraceLinks& links, const std::vector<bool>& is_communication)
      : trace_{trace},
        links_{links},
        communicates_{is_communication},
        boundaries_{boundaries_of(trace, links)},
        begin_{start_of_window(trace)} {}

  SilentWaits run() {
    SilentWaits found;
    for (const Silence& silence : silences()) {
      if (const Handoff handoff = handoff_in(silence); handoff.at > 0) {
        trace_.report.add(kHandoff, fmt::format("{} us", silence.length() / 1000));
        found.handoffs.push_back(handoff);
      } else if (const std::uint32_t work = work_that_ended(silence); work != kNone) {
        trace_.report.add(kHidden, fmt::format("{} us, {}", silence.length() / 1000,
                                               trace_.names.text(trace_.work[work].name)));
        found.waits.push_back(
            {silence.thread, kNone, silence.begin, silence.end, work, false, Evidence::Timed});
      }
    }
    std::ranges::stable_sort(found.handoffs, {}, &Handoff::end);
    return found;
  }

 private:
  [[nodiscard]] std::vector<Silence> silences() const {
    std::vector<Silence> found;
    for (std::uint32_t thread = 0; thread < boundaries_.size(); ++thread) {
      Nanoseconds latest = begin_;
      for (const Nanoseconds boundary : boundaries_[thread]) {
        if (boundary - latest >= kSilence && !is_a_call(thread, latest, boundary)) {
          found.push_back({thread, latest, boundary});
        }
        latest = boundary;
      }
    }
    return found;
  }

  /// Calls explain themselves (find_host_waits).
  [[nodiscard]] bool is_a_call(std::uint32_t thread, Nanoseconds begin, Nanoseconds end) const {
    const auto call =
        std::ranges::lower_bound(trace_.calls, std::pair{thread, begin}, {}, [](const kineto::Call& c) {
          return std::pair{c.thread, c.start};
        });
    return call != trace_.calls.end() && call->thread == thread && call->start == begin && call->end == end;
  }

  [[nodiscard]] Handoff handoff_in(const Silence& silence) const {
    Handoff best;
    for (std::uint32_t thread = 0; thread < boundaries_.size(); ++thread) {
      const auto& times = boundaries_[thread];
      const auto next = std::ranges::upper_bound(times, silence.end);
      if (thread == silence.thread || next == times.begin()) {
        continue;
      }
      const Nanoseconds latest = *std::prev(next);
      const bool was_active = latest > silence.begin;
      const bool falls_silent = next == times.end() || *next - silence.end >= kSilence;
      const Nanoseconds most = std::max(kSlowWakeUp, silence.length() / 10);
      if (was_active && falls_silent && silence.end - latest <= most && latest > best.at) {
        best = {thread, silence.thread, latest, silence.begin, silence.end};
      }
    }
    return best;
  }

  [[nodiscard]] std::uint32_t work_that_ended(const Silence& silence) const {
    if (silence.length() < kHiddenSilence) {
      return kNone;
    }
    std::uint32_t best = kNone;
    for (std::uint32_t lane = 0; lane < links_.lanes.size(); ++lane) {
      const std::uint32_t work = latest_issued(links_, lane, silence.begin);
      if (work == kNone || !ends_in_time(trace_.work[work], silence)) {
        continue;
      }
      const bool is_drained = work == latest_issued(links_, lane, silence.end);
      const bool is_awaited = communicates_[work] || trace_.work[work].kind == WorkKind::Memcpy;
      if ((is_drained || (is_awaited && silence.length() >= kLongSilence)) &&
          (best == kNone || trace_.work[work].end > trace_.work[best].end)) {
        best = work;
      }
    }
    return best;
  }

  static bool ends_in_time(const kineto::Work& work, const Silence& silence) {
    return work.end <= silence.end && silence.end - work.end <= kWakeUp &&
           work.end - silence.begin >= silence.length() / 2;
  }

  RecordedTrace& trace_;
  const TraceLinks& links_;
  const std::vector<bool>& communicates_;
  Boundaries boundaries_;
  Nanoseconds begin_;
};

}  // namespace

SilentWaits find_silent_waits(RecordedTrace& trace, const TraceLinks& links,
                              const std::vector<bool>& is_communication) {
  return SilenceSearch{trace, links, is_communication}.run();
}

}  // namespace lockstep::replay
