#pragma once

#include "ops/collectives/collective_profile.hpp"
#include "ops/collectives/routed_traffic.hpp"

namespace lockstep {

/// A plan from an algorithm's traffic and a protocol's costs:
///
///   latency   base + sum over steps of max(the profile's step latency, the route's)
///             + last chunk / last_copy
///   loads     traffic * wire_bytes / the link kind's efficiency
///   rate_cap  min(max_bus_bandwidth / busiest member's share, line_fraction * rate of the links alone)
///
/// Source: NCCL src/graph/tuning.cc, ncclTopoTuneModel (latencies, bandwidth refinements per protocol).
[[nodiscard]] CollectivePlan price(const Fabric& fabric, const RoutedTraffic& traffic, StepCount steps,
                                   Bytes size, const ProtocolCosts& costs, const LinkEfficiency& efficiency);

/// Most of `size` per second that the links of @p plan allow, were they idle; infinite without loads.
[[nodiscard]] BytesPerSecond rate_of_links(const CollectivePlan& plan, const Fabric& fabric);

}  // namespace lockstep
