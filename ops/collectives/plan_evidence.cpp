#include "ops/collectives/plan_evidence.hpp"

#include <fmt/format.h>

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {
namespace {

/// A network's costs are fitted where they are the profile's own, else derived.
Evidence evidence_of(const NetworkFabric& network, const CollectiveProfile& profile) {
  const auto own = profile.between_nodes ? Provenance::Fitted : Provenance::Derived;
  return {own, network.source, network.error, std::nullopt, {}};
}

}  // namespace

const NetworkFabric& network_of(const Fabric& fabric, const CollectiveProfile& profile) {
  static const NetworkFabric unknown;
  if (profile.between_nodes) {
    return *profile.between_nodes;
  }
  return fabric.network() != nullptr ? *fabric.network() : unknown;
}

std::string_view slowest_step(const CollectivePlan& plan, const Fabric& fabric) {
  std::string_view slowest = "nvlink";
  for (const LinkLoad& load : plan.loads) {
    const LinkKind kind = fabric.links()[load.link].kind;
    if (kind == LinkKind::Network) {
      return "network";
    }
    if (kind == LinkKind::HostMemory) {
      slowest = "host_memory";
    } else if (kind != LinkKind::NvLink && slowest == "nvlink") {
      slowest = "pcie";
    }
  }
  return slowest;
}

void tell_evidence(CollectivePlan& plan, const CollectiveProfile& profile, const Fabric& fabric) {
  const bool is_pxn = plan.algorithm == name_of(CommAlgorithm::Pxn);
  const std::string algorithm = is_pxn ? name_of(CommAlgorithm::Direct) : plan.algorithm;
  const std::string protocol = fmt::format("{}.{}", algorithm, plan.protocol);
  std::string key = fmt::format("{}.{}", protocol, slowest_step(plan, fabric));
  if (key.ends_with("host_memory") && !profile.provenance.contains(key)) {
    key = protocol + ".pcie";  // whose costs stand in where it has none (plan_costs.cpp)
  }
  if (key.ends_with("network")) {
    const Evidence evidence = evidence_of(network_of(fabric, profile), profile);
    plan.provenance = evidence.is;
    plan.band = half_width(evidence);
    return;
  }
  const Evidence& evidence = evidence_for(profile.provenance, key);
  plan.provenance = evidence.is;
  plan.band = half_width(evidence);
}

}  // namespace lockstep
