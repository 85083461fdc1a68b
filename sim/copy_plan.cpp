#include "sim/copy_plan.hpp"

#include <algorithm>

namespace lockstep {

CopyRoute copy_route(const Fabric& fabric, VertexId gpu, Memcpy::Path path) {
  const VertexId memory = fabric.host_memory_of(gpu);
  CopyRoute route;
  route.ends = path == Memcpy::Path::HostToDevice ? std::array{memory, gpu} : std::array{gpu, memory};
  route.links = fabric.route(route.ends[0], route.ends[1]).links;
  std::ranges::sort(route.links);
  return route;
}

CollectivePlan copy_plan(const CopyRoute& route, Bytes size, Seconds alone) {
  CollectivePlan plan;
  plan.algorithm = "copy";
  plan.size = size;
  plan.rate_cap = size / alone;
  for (const LinkId link : route.links) {
    plan.loads.push_back({link, 1.0});
  }
  plan.edges.push_back({0, 1, 1.0});
  return plan;
}

}  // namespace lockstep
