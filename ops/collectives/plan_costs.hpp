#pragma once

#include <algorithm>
#include <limits>

#include "ops/collectives/collective_profile.hpp"
#include "ops/collectives/routed_traffic.hpp"

namespace lockstep {

/// The times of a plan before it has edges and loads: what choosing between plans needs. Large groups have
/// hundreds of thousands of loads.
struct PlanPrice {
  Bytes size;                                                        ///< as in CollectivePlan
  Seconds latency;                                                   ///< likewise
  BytesPerSecond rate_cap{std::numeric_limits<double>::infinity()};  ///< likewise
  BytesPerSecond link_rate{
      std::numeric_limits<double>::infinity()};    ///< most of `size` that idle links allow
  int channels = std::numeric_limits<int>::max();  ///< as in CollectivePlan
  double wire_bytes = 1;                           ///< of the protocol, for a byte of payload
  LinkEfficiency efficiency;

  [[nodiscard]] Seconds on_links() const { return size / std::min(rate_cap, link_rate); }
  [[nodiscard]] Seconds alone() const { return latency + on_links(); }
};

/// The price of an algorithm's traffic by a protocol's costs:
///
///   latency   base + sum over steps of max(the profile's step latency, the route's)
///             + last chunk / last_copy
///   link_rate bandwidth / (traffic * wire_bytes / the link kind's efficiency), the least
///   rate_cap  min(max_bus_bandwidth / busiest member's share, line_fraction * rate of the links alone)
///
/// Source: NCCL src/graph/tuning.cc, ncclTopoTuneModel (latencies, bandwidth refinements per protocol).
[[nodiscard]] PlanPrice price(const RoutedTraffic& traffic, StepCount steps, Bytes size,
                              const ProtocolCosts& costs, const LinkEfficiency& efficiency);

/// The plan of @p traffic at @p price: its loads are traffic * wire_bytes / the link kind's efficiency.
[[nodiscard]] CollectivePlan plan_at(const PlanPrice& price, const RoutedTraffic& traffic,
                                     const Fabric& fabric);

/// Most of `size` per second that the links of @p plan allow, were they idle; infinite without loads.
[[nodiscard]] BytesPerSecond rate_of_links(const CollectivePlan& plan, const Fabric& fabric);

}  // namespace lockstep
