#include "ops/collectives/comm_route.hpp"

#include <algorithm>
#include <optional>

#include "topology/peer_access.hpp"

namespace lockstep {
namespace {

BytesPerSecond width(const Fabric& fabric, std::span<const LinkId> bundle) {
  BytesPerSecond sum;
  for (const LinkId link : bundle) {
    sum += fabric.links()[link].bandwidth;
  }
  return sum;
}

/// The NVLinks from @p from to @p to, or none.
std::span<const LinkId> bundle_to(const Fabric& fabric, const NvLinks& nvlinks, VertexId from, VertexId to) {
  for (const LinkId& link : nvlinks.leaving(from)) {
    if (fabric.links()[link].to == to) {
      return nvlinks.bundle_of(link);
    }
  }
  return {};
}

std::optional<Route> way_through_a_gpu(const Fabric& fabric, const NvLinks& nvlinks, VertexId from,
                                       VertexId to) {
  std::optional<Route> best;
  BytesPerSecond widest;
  for (const LinkId& first : nvlinks.leaving(from)) {
    const VertexId middle = fabric.links()[first].to;
    const auto onward = bundle_to(fabric, nvlinks, middle, to);
    if (fabric.vertices()[middle].kind != VertexKind::Gpu || onward.empty()) {
      continue;
    }
    const BytesPerSecond here = std::min(width(fabric, nvlinks.bundle_of(first)), width(fabric, onward));
    if (here > widest) {
      widest = here;
      const LinkId second = onward.front();
      best = Route{{first, second}, fabric.links()[first].latency + fabric.links()[second].latency};
    }
  }
  return best;
}

bool is_only_nvlink(const Fabric& fabric, const Route& route) {
  return std::ranges::all_of(route.links,
                             [&](LinkId link) { return fabric.links()[link].kind == LinkKind::NvLink; });
}

/// PATH_NVB is further than PATH_NVL.
bool may_pass_through_a_gpu(const Fabric& fabric, VertexId from, VertexId to) {
  return std::min(fabric.vertices()[from].p2p_level, fabric.vertices()[to].p2p_level) > P2pLevel::Nvl;
}

/// No distance is too far for its peers and NICs.
bool has_all_rights(const Vertex& gpu) {
  return gpu.p2p_level == P2pLevel::Sys && gpu.nic_read_level == P2pLevel::Sys &&
         gpu.nic_write_level == P2pLevel::Sys;
}

}  // namespace

Route comm_route(const Fabric& fabric, const NvLinks& nvlinks, VertexId from, VertexId to,
                 std::uint64_t flow) {
  Route route = fabric.route(from, to, flow);
  const bool same_node = fabric.vertices()[from].node == fabric.vertices()[to].node;
  if (same_node && !is_only_nvlink(fabric, route) && may_pass_through_a_gpu(fabric, from, to)) {
    if (std::optional<Route> detour = way_through_a_gpu(fabric, nvlinks, from, to)) {
      return *std::move(detour);
    }
  }
  if (!same_node) {
    const Staging staging = staging_of(fabric, from, to, route);
    return staging.sender || staging.receiver ? through_sockets(fabric, from, to, route, staging, flow)
                                              : route;
  }
  return are_peers(fabric, from, to, route) ? route : through_host_memory(fabric, from, to, flow);
}

bool is_read_from_host_memory(const Fabric& fabric, const NvLinks& nvlinks, VertexId from, VertexId to) {
  if (has_all_rights(fabric.vertices()[from]) && has_all_rights(fabric.vertices()[to])) {
    return false;
  }
  const Route route = fabric.route(from, to);
  if (fabric.vertices()[from].node != fabric.vertices()[to].node) {
    return staging_of(fabric, from, to, route).receiver;
  }
  return !are_peers(fabric, from, to, route) &&
         !(may_pass_through_a_gpu(fabric, from, to) && way_through_a_gpu(fabric, nvlinks, from, to));
}

}  // namespace lockstep
