#include "sim/copy_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace lockstep {

CopyRoute copy_route(const Fabric& fabric, VertexId gpu, Memcpy::Path path) {
  const VertexId memory = fabric.host_memory_of(gpu);
  const bool to_device = path == Memcpy::Path::HostToDevice;
  CopyRoute route{fabric.route(to_device ? memory : gpu, to_device ? gpu : memory).links};
  std::ranges::sort(route.links);
  return route;
}

std::vector<LinkLoad> loads_of(const CopyRoute& route) {
  std::vector<LinkLoad> loads;
  for (const LinkId link : route.links) {
    loads.push_back({link, 1.0});
  }
  return loads;
}

std::vector<TrafficPart> parts_of(const HostTraffic& traffic) {
  std::vector<TrafficPart> parts;
  if (traffic.to_device > Bytes{0}) {
    parts.push_back({Memcpy::Path::HostToDevice, traffic.to_device / traffic.total()});
  }
  if (traffic.to_host > Bytes{0}) {
    parts.push_back({Memcpy::Path::DeviceToHost, traffic.to_host / traffic.total()});
  }
  return parts;
}

CollectivePlan copy_plan(const HostTraffic& traffic, Seconds alone, const LoadsOfPath& loads_of_path) {
  if (!(alone >= Seconds{0}))
    throw std::logic_error{"a copy, or a kernel that reads host memory, has no time"};
  CollectivePlan plan;
  plan.algorithm = "copy";
  plan.size = traffic.total();
  plan.rate_cap = plan.size / alone;
  for (const TrafficPart& part : parts_of(traffic)) {
    for (const LinkLoad& load : loads_of_path(part.path)) {
      plan.loads.push_back({load.link, part.share * load.share});
    }
    const bool to_device = part.path == Memcpy::Path::HostToDevice;
    plan.edges.push_back({to_device ? 0 : 1, to_device ? 1 : 0, part.share});
  }
  std::ranges::sort(plan.loads, {}, &LinkLoad::link);
  return plan;
}

}  // namespace lockstep
