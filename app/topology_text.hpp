#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

struct AskedRoute {
  VertexId from = 0;
  VertexId to = 0;
  std::uint64_t flow = 0;
};

/// Up to so many GPUs their pairs are shown one by one, above by class.
inline constexpr std::size_t kMostGpusInMatrix = 32;

/// The text of `lockstep topology`.
[[nodiscard]] std::string topology_text(const std::string& title, const Fabric& fabric,
                                        const std::vector<AskedRoute>& routes);

}  // namespace lockstep
