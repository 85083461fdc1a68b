#include "traces/replay/dependencies.hpp"

#include <algorithm>
#include <functional>

namespace lockstep::replay {
namespace {

class DependencySearch {
 public:
  explicit DependencySearch(const RankRecording& rank) : rank_{rank} {
    const std::size_t works = rank.trace.work.size();
    found_.anchors.assign(works, kNone);
    found_.followers.resize(works);
    found_.event.assign(works, kNone);
    found_.posts.resize(works);
    found_.awaits.resize(rank.trace.calls.size());
    found_.flags = static_cast<std::uint32_t>(rank.silent.handoffs.size());
  }

  Dependencies run() {
    choose_threads();
    place_orphans();
    for (const Lane& lane : rank_.links.lanes) {
      keep_order(lane);
    }
    for (const StreamWait& wait : rank_.stream_waits) {
      depend(wait.work, wait.call);
    }
    for (const HostWait& wait : rank_.host_waits) {
      if (wait.on_device) {
        depend_on_device(wait.call);
      } else {
        depend(wait.work, wait.call);
      }
    }
    for (const HostWait& wait : rank_.silent.waits) {
      (void)event_of(wait.work);
      const bool is_own = thread_of(wait.work) == wait.thread;
      found_.silent_awaits.push_back(is_own ? kNone : found_.flags);
      if (!is_own) {
        found_.posts[wait.work].push_back(found_.flags++);
      }
    }
    return std::move(found_);
  }

 private:
  /// The main one, which steps, comes first; then those that launch more.
  void choose_threads() {
    std::vector<std::pair<int, std::uint32_t>> rank(rank_.trace.threads.size(), {0, 0});  // steps, launches
    for (std::uint32_t i = 0; i < rank_.trace.calls.size(); ++i) {
      rank[rank_.trace.calls[i].thread].second += rank_.links.works[i].empty() ? 0 : 1;
    }
    for (const kineto::Operator& op : rank_.trace.operators) {
      rank[op.thread].first += rank_.trace.names.text(op.name).starts_with("ProfilerStep#") ? 1 : 0;
    }
    for (std::uint32_t thread = 0; thread < rank.size(); ++thread) {
      if (rank_.links.is_worker[thread]) {
        found_.threads.push_back(thread);
      }
    }
    std::ranges::stable_sort(found_.threads, std::greater{}, [&](std::uint32_t t) { return rank[t]; });
  }

  void place_orphans() {
    for (const Lane& lane : rank_.links.lanes) {
      std::uint32_t anchor = kNone;
      for (std::uint32_t work = lane.first; work < lane.last; ++work) {
        if (rank_.links.call_of_work[work] != kNone) {
          anchor = work;
          continue;
        }
        found_.anchors[work] = anchor;
        (anchor == kNone ? found_.at_begin : found_.followers[anchor]).push_back(work);
      }
    }
    std::ranges::sort(found_.at_begin, {}, [&](std::uint32_t work) { return rank_.trace.work[work].start; });
  }

  [[nodiscard]] std::uint32_t thread_of(std::uint32_t work) const {
    const std::uint32_t call = launch_of(work);
    return call == kNone ? found_.threads.front() : rank_.trace.calls[call].thread;
  }
  [[nodiscard]] std::uint32_t launch_of(std::uint32_t work) const {
    const std::uint32_t own = rank_.links.call_of_work[work];
    return own != kNone || found_.anchors[work] == kNone ? own
                                                         : rank_.links.call_of_work[found_.anchors[work]];
  }

  /// A stream runs its work in the order in which threads launched it.
  void keep_order(const Lane& lane) {
    for (std::uint32_t work = lane.first + 1; work < lane.last; ++work) {
      const std::uint32_t call = rank_.links.call_of_work[work];
      if (call != kNone) {
        come_after(work - 1, call);
      }
    }
  }

  /// @p call is made only after @p work was launched.
  void come_after(std::uint32_t work, std::uint32_t call) {
    if (thread_of(work) == rank_.trace.calls[call].thread) {
      return;
    }
    const std::uint32_t launch = launch_of(work);
    if (launch != kNone && rank_.trace.calls[launch].start >= rank_.trace.calls[call].start) {
      return;
    }
    found_.posts[work].push_back(found_.flags);
    found_.awaits[call].push_back(found_.flags);
    ++found_.flags;
  }

  std::uint32_t event_of(std::uint32_t work) {
    if (found_.event[work] == kNone) {
      found_.event[work] = found_.events++;
    }
    return found_.event[work];
  }

  void depend(std::uint32_t work, std::uint32_t call) {
    (void)event_of(work);
    come_after(work, call);
  }

  void depend_on_device(std::uint32_t call) {
    for (std::uint32_t lane = 0; lane < rank_.links.lanes.size(); ++lane) {
      const std::uint32_t work = latest_issued(rank_.links, lane, rank_.trace.calls[call].start);
      if (work != kNone) {
        come_after(work, call);
      }
    }
  }

  const RankRecording& rank_;
  Dependencies found_;
};

}  // namespace

Dependencies find_dependencies(const RankRecording& rank) {
  return DependencySearch{rank}.run();
}

}  // namespace lockstep::replay
