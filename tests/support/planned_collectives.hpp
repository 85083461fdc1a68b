#pragma once

/// @file
/// Collectives of all GPUs of a small machine, planned.

#include <string>
#include <utility>

#include "ops/collectives/collective_planner.hpp"
#include "tests/support/small_machines.hpp"

namespace lockstep {

/// Load of the link between two vertices, as a share of the collective's size.
inline double load_of(const CollectivePlan& plan, const Fabric& fabric, const std::string& from,
                      const std::string& to) {
  for (const LinkLoad& load : plan.loads) {
    const Link& link = fabric.links()[load.link];
    if (fabric.vertices()[link.from].name == from && fabric.vertices()[link.to].name == to) {
      return load.share;
    }
  }
  return 0;
}

inline CollectivePlan plan_all(const Fabric& fabric, const CollectiveRequest& request,
                               CollectiveOptions options = {}) {
  const auto gpus = testing::all_gpus(fabric);
  return CollectivePlanner{fabric, std::move(options)}.plan(request, gpus);
}

}  // namespace lockstep
