#include "sim/network/link_weight.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep {

double unit_of(const CollectivePlan& plan) {
  double unit = 0;
  for (const CommEdge& edge : plan.edges) {
    unit = std::max(unit, edge.share);
  }
  if (plan.edges.empty()) {
    for (const LinkLoad& load : plan.loads) {
      unit = std::max(unit, load.share);
    }
  }
  return unit > 0 ? unit : 1;
}

LinkWeight link_weight(double share, double unit) {
  constexpr double kCoarse = 0x1p-24;
  constexpr double kFine = 0x1p-60;
  const double weight = share / unit;
  const double coarse = std::nearbyint(weight / kCoarse) * kCoarse;
  return {coarse, std::nearbyint((weight - coarse) / kFine) * kFine};
}

}  // namespace lockstep
