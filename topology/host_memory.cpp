#include "topology/host_memory.hpp"

#include <algorithm>
#include <ranges>

namespace lockstep {

HostMemory host_memory_of_node(const Fabric& fabric, int node) {
  HostMemory all;
  bool size_known = true, bandwidth_known = true;
  for (const Vertex& vertex : fabric.vertices()) {
    if (vertex.kind != VertexKind::CpuSocket || vertex.node != node) {
      continue;
    }
    all.size += vertex.memory;
    all.bandwidth += vertex.memory_bandwidth;
    size_known = size_known && vertex.memory > Bytes{0};
    bandwidth_known = bandwidth_known && vertex.memory_bandwidth > BytesPerSecond{0};
  }
  return {size_known ? all.size : Bytes{0}, bandwidth_known ? all.bandwidth : BytesPerSecond{0}};
}

void draw_host_memory(const std::set<int>& nodes, std::vector<Vertex>& vertices, std::vector<Link>& links) {
  const std::size_t drawn = vertices.size();
  for (VertexId id = 0; id < drawn; ++id) {
    const Vertex socket = vertices[id];
    if (socket.kind != VertexKind::CpuSocket || !nodes.contains(socket.node) ||
        !(socket.memory_bandwidth > BytesPerSecond{0})) {
      continue;
    }
    const auto memory = static_cast<VertexId>(vertices.size());
    vertices.push_back({VertexKind::HostMemory, socket.node, socket.index, socket.name + ".memory", ""});
    links.push_back({id, memory, LinkKind::HostMemory, socket.memory_bandwidth / 2, Seconds{0}});
    links.push_back({memory, id, LinkKind::HostMemory, socket.memory_bandwidth / 2, Seconds{0}});
  }
}

std::vector<LinkId> host_memory_links(const Fabric& fabric, VertexId socket) {
  // Drawn last, in pairs, in the order of their sockets.
  const auto links = fabric.links();
  const auto drawn =
      std::ranges::partition_point(links, [](const Link& link) { return link.kind != LinkKind::HostMemory; });
  const auto first = static_cast<std::size_t>(drawn - links.begin());
  const auto pairs = std::views::iota(std::size_t{0}, (links.size() - first) / 2);
  const auto found = std::ranges::partition_point(
      pairs, [&](std::size_t pair) { return links[first + 2 * pair].from < socket; });
  if (found == pairs.end() || links[first + 2 * *found].from != socket) {
    return {};
  }
  const auto write = static_cast<LinkId>(first + 2 * *found);
  return {write, write + 1};
}

}  // namespace lockstep
