#include "search/plans/dominance_filter.hpp"

namespace lockstep {

std::size_t DominanceFilter::add(const PlanFigures& least) {
  candidates_.push_back({least});
  return candidates_.size() - 1;
}

void DominanceFilter::meet(const PlanFigures& known) {
  for (auto& [least, beaten_by] : candidates_) {
    const bool is_better =
        known.gpus == least.gpus && known.step * (1 + kClearly) <= least.step && known.memory <= least.memory;
    beaten_by += is_better ? 1 : 0;
  }
}

}  // namespace lockstep
