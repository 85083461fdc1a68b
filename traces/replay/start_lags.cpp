#include "traces/replay/start_lags.hpp"

#include <algorithm>

namespace lockstep::replay {
namespace {

constexpr Nanoseconds kLong = 1'000'000;  ///< what takes longer is no latency of a launch and no gap

Nanoseconds median(std::vector<Nanoseconds> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The time, by work, when what its stream waits for in front of it has ended; 0: nothing.
std::vector<Nanoseconds> raised_by_waits(const RankRecording& rank) {
  std::vector<Nanoseconds> raised(rank.trace.work.size(), 0);
  for (const StreamWait& wait : rank.stream_waits) {
    const auto first = rank.links.issued.begin() + rank.links.lanes[wait.lane].first;
    const auto last = rank.links.issued.begin() + rank.links.lanes[wait.lane].last;
    const auto next = std::lower_bound(first, last, rank.trace.calls[wait.call].start);
    if (next != last) {
      Nanoseconds& date = raised[static_cast<std::size_t>(next - rank.links.issued.begin())];
      date = std::max(date, rank.ends[wait.work]);
    }
  }
  return raised;
}

class StartSearch {
 public:
  StartSearch(const RankRecording& rank, const std::vector<std::uint32_t>& anchors)
      : rank_{rank}, anchors_{anchors}, free_(rank.trace.work.size(), 0), starts_(rank.trace.work.size()) {}

  std::vector<Start> run() {
    find_usual_call();
    const std::vector<Nanoseconds> raised = raised_by_waits(rank_);
    for (const Lane& lane : rank_.links.lanes) {
      for (std::uint32_t work = lane.first; work < lane.last; ++work) {
        free_[work] = std::max(raised[work], work == lane.first ? 0 : rank_.ends[work - 1]);
        starts_[work].issue = issue_of(work);
      }
    }
    find_typical();
    for (std::uint32_t work = 0; work < starts_.size(); ++work) {
      split(work);
    }
    return std::move(starts_);
  }

 private:
  [[nodiscard]] Nanoseconds issue_of(std::uint32_t work) const {
    const std::uint32_t call = rank_.links.call_of_work[work];
    if (call != kNone) {
      const kineto::Call& launch = rank_.trace.calls[call];
      const Nanoseconds latest = blocks(call) ? std::min(launch.end, launch.start + usual_call_) : launch.end;
      return std::clamp(rank_.trace.work[work].start, launch.start, latest);
    }
    return anchors_[work] == kNone ? rank_.begin : starts_[anchors_[work]].issue;
  }

  /// A copy that the host waits for: most of its call is the wait.
  [[nodiscard]] bool blocks(std::uint32_t call) const {
    const auto wait = std::ranges::lower_bound(rank_.host_waits, call, {}, &HostWait::call);
    return wait != rank_.host_waits.end() && wait->call == call;
  }

  void find_usual_call() {
    std::vector<Nanoseconds> calls;
    for (std::uint32_t call = 0; call < rank_.trace.calls.size(); ++call) {
      if (!rank_.links.works[call].empty() && !blocks(call)) {
        calls.push_back(rank_.trace.calls[call].end - rank_.trace.calls[call].start);
      }
    }
    usual_call_ = median(std::move(calls));
  }

  void find_typical() {
    std::vector<Nanoseconds> latencies;
    std::vector<Nanoseconds> gaps;
    for (std::uint32_t work = 0; work < starts_.size(); ++work) {
      const Nanoseconds start = rank_.trace.work[work].start;
      const bool waits_for_launch = starts_[work].issue >= free_[work];
      const Nanoseconds took = start - (waits_for_launch ? starts_[work].issue : free_[work]);
      if (took >= 0 && took < kLong) {
        (waits_for_launch ? latencies : gaps).push_back(took);
      }
    }
    latency_ = median(std::move(latencies));
    gap_ = median(std::move(gaps));
  }

  void split(std::uint32_t work) {
    Start& start = starts_[work];
    const Nanoseconds after_launch = std::max<Nanoseconds>(rank_.trace.work[work].start - start.issue, 0);
    const Nanoseconds after_work = std::max<Nanoseconds>(rank_.trace.work[work].start - free_[work], 0);
    if (start.issue + latency_ > free_[work] + gap_) {
      start.after_launch = after_launch;
      start.after_work = std::min(gap_, after_work);
    } else {
      start.after_launch = std::min(latency_, after_launch);
      start.after_work = after_work;
    }
  }

  const RankRecording& rank_;
  const std::vector<std::uint32_t>& anchors_;
  std::vector<Nanoseconds> free_;  // by work: when its stream could begin it
  std::vector<Start> starts_;
  Nanoseconds latency_ = 0, gap_ = 0;
  Nanoseconds usual_call_ = 0;  // what launching takes on the host
};

}  // namespace

std::vector<Start> find_starts(const RankRecording& rank, const std::vector<std::uint32_t>& anchors) {
  return StartSearch{rank, anchors}.run();
}

}  // namespace lockstep::replay
