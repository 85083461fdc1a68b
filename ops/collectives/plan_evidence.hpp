#pragma once

#include <string_view>

#include "ops/collectives/collective_plan.hpp"
#include "ops/collectives/collective_profile.hpp"
#include "topology/network_fabric.hpp"

namespace lockstep {

/// How nodes are connected: as the profile says, if it is of this very machine, else as the cluster does.
[[nodiscard]] const NetworkFabric& network_of(const Fabric& fabric, const CollectiveProfile& profile);

/// The key of the latency of a step over the slowest kind of link that a plan uses.
[[nodiscard]] std::string_view slowest_step(const CollectivePlan& plan, const Fabric& fabric);

/// Reports the evidence for the costs that decide a plan's time: those of its slowest kind of step.
void tell_evidence(CollectivePlan& plan, const CollectiveProfile& profile, const Fabric& fabric);

}  // namespace lockstep
