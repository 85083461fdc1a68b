#include "calibration/hosts/full_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

namespace lockstep {
namespace {

using kineto::Call;
using kineto::CallKind;
using kineto::Nanoseconds;

// About 1,000 launches are commonly seen to be pending; NVIDIA does not say how many can be. Events, which
// traces have no stream of, and the pieces of large launches make it fewer.
constexpr std::int64_t kShortestQueue = 768;
constexpr double kNearlyFull = 0.9;

/// Launches of one stream, and when it began each.
struct StreamQueue {
  std::vector<Nanoseconds> launches, starts;
  std::int64_t before = 0;  ///< launched before the trace began

  void sort() {
    std::ranges::sort(launches);
    std::ranges::sort(starts);
  }
  /// Launches that a call at @p time finds not started.
  [[nodiscard]] std::int64_t held(Nanoseconds time) const {
    return before + (std::ranges::lower_bound(launches, time) - launches.begin()) -
           (std::ranges::upper_bound(starts, time) - starts.begin());
  }
  [[nodiscard]] bool starts_within(const Call& call) const {
    const auto next = std::ranges::upper_bound(starts, call.start);
    return next != starts.end() && *next <= call.end;
  }
};

class LaunchQueues {
 public:
  explicit LaunchQueues(const kineto::RecordedTrace& trace) {
    std::unordered_map<std::int64_t, const Call*> by_correlation;
    for (const Call& call : trace.calls) {
      if (call.correlation >= 0) by_correlation.emplace(call.correlation, &call);
    }
    for (const kineto::Work& work : trace.work) {
      const auto call = by_correlation.find(work.correlation);
      const bool is_before = call == by_correlation.end();
      if (!is_before && call->second->kind != CallKind::Launch) continue;  // a graph's launch is one
      StreamQueue& queue = queues_[{work.device, work.stream}];
      // Behind work that was launched in the trace: by a call that was not recorded, as Triton's may be.
      if (is_before && !queue.launches.empty()) continue;
      queue.starts.push_back(work.start);
      if (is_before) {
        ++queue.before;
      } else {
        queue.launches.push_back(call->second->start);
        launched_on_.emplace(work.correlation, &queue);
      }
    }
    for (auto& [stream, queue] : queues_) {
      queue.sort();
      for (const Nanoseconds launch : queue.launches) most_ = std::max(most_, queue.held(launch));
    }
  }

  [[nodiscard]] bool made_wait(const Call& call) const {
    if (most_ < kShortestQueue) return false;
    if (call.kind == CallKind::Launch) {
      const auto queue = launched_on_.find(call.correlation);
      return queue != launched_on_.end() && made_wait(*queue->second, call);
    }
    return (call.kind == CallKind::EventRecord || call.kind == CallKind::StreamWait) &&
           std::ranges::any_of(queues_, [&](const auto& entry) { return made_wait(entry.second, call); });
  }

 private:
  [[nodiscard]] bool made_wait(const StreamQueue& queue, const Call& call) const {
    return static_cast<double>(queue.held(call.start)) >= kNearlyFull * static_cast<double>(most_) &&
           queue.starts_within(call);
  }

  std::map<std::pair<std::int32_t, std::int32_t>, StreamQueue> queues_;  // by device and stream
  std::unordered_map<std::int64_t, const StreamQueue*> launched_on_;     // by correlation
  std::int64_t most_ = 0;
};

}  // namespace

std::vector<bool> waited_for_the_queue(const kineto::RecordedTrace& trace) {
  const LaunchQueues queues{trace};
  std::vector<bool> waited;
  for (const Call& call : trace.calls) waited.push_back(queues.made_wait(call));
  return waited;
}

}  // namespace lockstep
