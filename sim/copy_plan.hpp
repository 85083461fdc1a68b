#pragma once

#include <functional>
#include <vector>

#include "ops/collectives/collective_plan.hpp"
#include "ops/kernel.hpp"
#include "ops/kernels/host_traffic.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The way of copies between a GPU and the memory of its host.
struct CopyRoute {
  std::vector<LinkId> links;  ///< sorted
};

[[nodiscard]] CopyRoute copy_route(const Fabric& fabric, VertexId gpu, Memcpy::Path path);
[[nodiscard]] std::vector<LinkLoad> loads_of(const CopyRoute& route);

/// A direction that traffic takes, and its part of all bytes.
struct TrafficPart {
  Memcpy::Path path = Memcpy::Path::HostToDevice;
  double share = 1;
};
[[nodiscard]] std::vector<TrafficPart> parts_of(const HostTraffic& traffic);

/// The links that traffic in a direction loads.
using LoadsOfPath = std::function<std::vector<LinkLoad>(Memcpy::Path path)>;

/// A copy, or a kernel that reads and writes host memory, is a transfer over its routes that alone takes what
/// its kernel model says; members are the host's memory and the GPU.
[[nodiscard]] CollectivePlan copy_plan(const HostTraffic& traffic, Seconds alone,
                                       const LoadsOfPath& loads_of_path);

}  // namespace lockstep
