#include "ops/collectives/comm_route.hpp"

#include <algorithm>
#include <optional>

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

}  // namespace

Route comm_route(const Fabric& fabric, const NvLinks& nvlinks, VertexId from, VertexId to,
                 std::uint64_t flow) {
  Route route = fabric.route(from, to, flow);
  const bool same_node = fabric.vertices()[from].node == fabric.vertices()[to].node;
  const bool only_nvlink = std::ranges::all_of(
      route.links, [&](LinkId link) { return fabric.links()[link].kind == LinkKind::NvLink; });
  if (same_node && !only_nvlink) {
    if (std::optional<Route> detour = way_through_a_gpu(fabric, nvlinks, from, to)) {
      return *std::move(detour);
    }
  }
  return route;
}

}  // namespace lockstep
