#include "search/plans/plan_rivals.hpp"

namespace lockstep {

std::size_t PlanRivals::add(const PlanFigures& least) {
  candidates_.push_back({least});
  return candidates_.size() - 1;
}

void PlanRivals::meet(const PlanFigures& known) {
  for (auto& [least, beaten_by] : candidates_) {
    const bool is_better =
        known.gpus == least.gpus && known.step * (1 + kClearly) <= least.step && known.memory <= least.memory;
    beaten_by += is_better ? 1 : 0;
  }
}

}  // namespace lockstep
