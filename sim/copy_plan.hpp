#pragma once

#include <array>
#include <vector>

#include "ops/collectives/collective_plan.hpp"
#include "ops/kernel.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The way of copies between a GPU and the memory of its host.
struct CopyRoute {
  std::array<VertexId, 2> ends{};
  std::vector<LinkId> links;  ///< sorted
};

[[nodiscard]] CopyRoute copy_route(const Fabric& fabric, VertexId gpu, Memcpy::Path path);

/// A copy is a transfer over its route that alone takes what its kernel model says.
[[nodiscard]] CollectivePlan copy_plan(const CopyRoute& route, Bytes size, Seconds alone);

}  // namespace lockstep
