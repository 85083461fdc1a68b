#include "ops/workload/parallel/tensor_pieces.hpp"

#include <vector>

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
