#pragma once

#include <vector>

#include "topology/fabric.hpp"

namespace lockstep::testing {

/// Two GPUs with parallel links of these capacities (bytes/s) from the first to the second, and a fast one
/// back.
inline Fabric parallel_links(const std::vector<double>& capacities) {
  std::vector<Vertex> vertices{{VertexKind::Gpu, 0, 0, "a", "any"}, {VertexKind::Gpu, 0, 1, "b", "any"}};
  std::vector<Link> links;
  for (const double capacity : capacities) {
    links.push_back({0, 1, LinkKind::NvLink, BytesPerSecond{capacity}, Seconds{0}});
  }
  links.push_back({1, 0, LinkKind::NvLink, BytesPerSecond{1e9}, Seconds{0}});
  return Fabric{vertices, links};
}

}  // namespace lockstep::testing
