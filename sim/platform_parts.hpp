#pragma once

#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

class Executor;

/// The vertices and links of a Fabric that a SimGrid platform has.
struct PlatformParts {
  std::vector<VertexId> hosts;  ///< GPUs and CPU sockets, ascending
  std::vector<LinkId> links;    ///< ascending
};

/// Hosts on which the actors of a rank live.
struct RankHome {
  VertexId gpu = 0;     ///< of its streams
  VertexId socket = 0;  ///< of its host threads: the one nearest to the GPU, or the GPU where there is none
};

[[nodiscard]] RankHome home_of(const Fabric& fabric, VertexId gpu);

/// All GPUs, sockets and links.
[[nodiscard]] PlatformParts every_part(const Fabric& fabric);

/// The homes of the simulated ranks, and the links that their plans load. An uneven all-to-all has no plan
/// before it meets; a job with one gets every link.
[[nodiscard]] PlatformParts parts_in_use(const Executor& executor);

}  // namespace lockstep
