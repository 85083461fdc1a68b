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

double link_weight(double share, double unit) {
  return std::nearbyint(share / unit / kWeightStep) * kWeightStep;
}

}  // namespace lockstep
