#include "ops/workload/parallel/tensor_pieces.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

void gather_in_pieces(const LayerScope& scope, Bytes size, const std::function<void()>& multiply) {
  const int others = scope.plan.spec.tensor - 1;
  std::vector<EventId> arrivals;
  for (int other = 0; other < others; ++other) {
    arrivals.push_back(
        scope.start(CollectiveKind::AllGather, "tp", size / static_cast<double>(others), kSmsOfRingExchange));
  }
  multiply();
  for (const EventId arrival : arrivals) {
    scope.step.wait_for(arrival);
    multiply();
  }
}

void gather_by_two_streams(const LayerScope& scope, Bytes size, const std::function<void()>& multiply) {
  constexpr int kStreams = 2;
  const int others = scope.plan.spec.tensor - 1, at_once = std::min(kStreams, others);
  const auto copy = [&](int pieces) {
    return scope.start(CollectiveKind::AllGather, "tp", size * (static_cast<double>(pieces) / others),
                       kSmsOfRingExchange);
  };
  multiply();
  scope.step.launch(kernels::copy_on_device(size / static_cast<double>(scope.plan.spec.tensor)));
  std::deque<EventId> arrivals(static_cast<std::size_t>(at_once), copy(at_once));
  for (int other = 0; other < others; ++other) {
    scope.step.wait_for(arrivals.front());
    arrivals.pop_front();
    multiply();
    if (other + kStreams < others) {
      arrivals.push_back(copy(1));
    }
  }
}

void scatter_in_pieces(const LayerScope& scope, Bytes size, int sms, const std::function<void()>& multiply) {
  const int others = scope.plan.spec.tensor - 1;
  std::vector<EventId> sums;
  for (int other = 0; other < others; ++other) {
    multiply();
    sums.push_back(scope.start(CollectiveKind::ReduceScatter, "tp", size / static_cast<double>(others), sms));
  }
  multiply();
  for (const EventId sum : sums) {
    scope.step.wait_for(sum);
  }
}

}  // namespace lockstep
