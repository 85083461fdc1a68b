#include "ops/collectives/plan_costs.hpp"

#include <algorithm>
#include <limits>

namespace lockstep {
namespace {

Seconds software_latency(HopClass kind, const ProtocolCosts& costs) {
  switch (kind) {
    case HopClass::NvLink:
      return costs.nvlink;
    case HopClass::Pcie:
      return costs.pcie;
    case HopClass::HostMemory:
      return costs.host_memory.value_or(costs.pcie);
    case HopClass::Network:
      break;
  }
  return costs.network;
}

Seconds step_latency(const Hop& hop, const ProtocolCosts& costs) {
  return std::max(software_latency(hop.kind, costs), hop.latency);
}

double efficiency_of(LinkKind kind, const LinkEfficiency& efficiency) {
  switch (kind) {
    case LinkKind::NvLink:
      return efficiency.nvlink;
    case LinkKind::Network:
      return efficiency.network;
    case LinkKind::HostMemory:
      return efficiency.host_memory;
    case LinkKind::Pcie:
    case LinkKind::Socket:
      break;
  }
  return efficiency.pcie;
}

}  // namespace

BytesPerSecond rate_of_links(const CollectivePlan& plan, const Fabric& fabric) {
  BytesPerSecond rate{std::numeric_limits<double>::infinity()};
  for (const LinkLoad& load : plan.loads) {
    rate = std::min(rate, fabric.links()[load.link].bandwidth / load.share);
  }
  return rate;
}

PlanPrice price(const RoutedTraffic& traffic, StepCount steps, Bytes size, const ProtocolCosts& costs,
                const LinkEfficiency& efficiency) {
  PlanPrice price;
  price.size = size;
  price.wire_bytes = costs.wire_bytes;
  price.efficiency = efficiency;
  price.latency = costs.base + steps.within_nodes * step_latency(traffic.within_nodes, costs) +
                  steps.between_nodes * step_latency(traffic.between_nodes, costs);
  if (costs.last_copy) {
    price.latency += steps.last_chunk * size / *costs.last_copy;
  }
  for (const LoadClass& links : traffic.classes) {
    const double share = links.share * (costs.wire_bytes / efficiency_of(links.kind, efficiency));
    price.link_rate = std::min(price.link_rate, links.bandwidth / share);
  }
  if (costs.max_bus_bandwidth && traffic.busiest_member > 0) {
    price.rate_cap = *costs.max_bus_bandwidth / traffic.busiest_member;
  }
  if (costs.line_fraction < 1) {
    price.rate_cap = std::min(price.rate_cap, costs.line_fraction * price.link_rate);
  }
  return price;
}

CollectivePlan plan_at(const PlanPrice& price, const RoutedTraffic& traffic, const Fabric& fabric) {
  CollectivePlan plan;
  plan.size = price.size;
  plan.latency = price.latency;
  plan.rate_cap = price.rate_cap;
  plan.channels = price.channels;
  plan.edges = traffic.edges;
  plan.loads = traffic.loads;
  for (LinkLoad& load : plan.loads) {
    load.efficiency = efficiency_of(fabric.links()[load.link].kind, price.efficiency);
    load.share *= price.wire_bytes / load.efficiency;
  }
  return plan;
}

}  // namespace lockstep
