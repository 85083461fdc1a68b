#include "ops/collectives/node_exits.hpp"

#include "topology/ecmp.hpp"

namespace lockstep {
namespace {

std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) {
  return (std::uint64_t{first} << 32U) | second;
}

}  // namespace

std::optional<VertexId> NodeExits::nic_towards(VertexId gpu, VertexId other) {
  if (!nodes_.has_copies(gpu)) {
    return routed_nic(gpu, other);
  }
  const std::uint64_t key = pair_of(nodes_.class_of(gpu), other);
  const std::uint32_t node = nodes_.place_of_device(gpu).node;
  if (const auto known = nics_.find(key); known != nics_.end()) {
    return nodes_.device_at(node, known->second);
  }
  const std::uint64_t choices = hashed_choices();
  const std::optional<VertexId> nic = routed_nic(gpu, other);
  if (nic && hashed_choices() == choices && nodes_.place_of_device(*nic).node == node) {
    nics_.emplace(key, nodes_.place_of_device(*nic).number);
  }
  return nic;
}

NodeExits::Way NodeExits::way_to(VertexId gpu, VertexId nic) {
  if (!nodes_.has_copies(gpu) || nodes_.place_of_device(gpu).node != nodes_.place_of_device(nic).node) {
    return routed_way(gpu, nic);
  }
  const std::uint64_t key = pair_of(nodes_.class_of(gpu), nodes_.class_of(nic));
  if (const auto known = ways_.find(key); known != ways_.end()) {
    return known->second;
  }
  const std::uint64_t choices = hashed_choices();
  const Way way = routed_way(gpu, nic);
  if (hashed_choices() == choices) {
    ways_.emplace(key, way);
  }
  return way;
}

std::optional<VertexId> NodeExits::routed_nic(VertexId gpu, VertexId other) const {
  for (const LinkId link : fabric_.route(gpu, other).links) {
    const VertexId next = fabric_.links()[link].to;
    if (fabric_.vertices()[next].kind == VertexKind::Nic) {
      return next;
    }
  }
  return std::nullopt;
}

NodeExits::Way NodeExits::routed_way(VertexId gpu, VertexId nic) const {
  const Route route = fabric_.route(gpu, nic);
  Way way{route.latency};
  for (const LinkId link : route.links) {
    way.crosses_cpu |= fabric_.vertices()[fabric_.links()[link].to].kind == VertexKind::CpuSocket;
  }
  return way;
}

}  // namespace lockstep
