#pragma once

#include <set>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// The DRAM of a machine's CPU sockets together.
struct HostMemory {
  Bytes size{0};                ///< 0: a socket does not say, or there is none
  BytesPerSecond bandwidth{0};  ///< likewise
};

/// That of @p node of @p fabric; -1: of sockets outside of nodes. Programs may use all of it: Linux takes
/// pages from other sockets when those of a socket are used up (the policy `default` of set_mempolicy(2)).
[[nodiscard]] HostMemory host_memory_of_node(const Fabric& fabric, int node);

/// Adds the memory of each socket of known `memory_bandwidth` in @p nodes to what a fabric is made of: a
/// vertex `cpu0.memory` with a link for what is written and one for what is read. DRAM does one or the other,
/// and a message does both in equal amounts: each link has half of the bandwidth.
void draw_host_memory(const std::set<int>& nodes, std::vector<Vertex>& vertices, std::vector<Link>& links);

/// The link that writes to the memory of @p socket and the one that reads it; none where it was not drawn.
[[nodiscard]] std::vector<LinkId> host_memory_links(const Fabric& fabric, VertexId socket);

}  // namespace lockstep
