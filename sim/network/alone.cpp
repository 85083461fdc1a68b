#include "sim/network/alone.hpp"

#include <algorithm>

namespace lockstep {

void AloneNetwork::start(TransferId transfer, const CollectivePlan& plan,
                         std::span<const VertexId> /*members*/, double date) {
  double rate = plan.rate_cap.in_base_units();
  for (const LinkLoad& load : plan.loads) {
    rate = std::min(rate, fabric_.links()[load.link].bandwidth.in_base_units() / load.share);
  }
  const double bytes = plan.size.in_base_units();
  heap_.push_back({date + (bytes > 0 ? bytes / rate : 0), transfer});
  std::push_heap(heap_.begin(), heap_.end());
}

double AloneNetwork::next_completion() {
  return heap_.empty() ? kNever : heap_.front().date;
}

TransferId AloneNetwork::complete_next() {
  const TransferId transfer = heap_.front().transfer;
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  return transfer;
}

}  // namespace lockstep
