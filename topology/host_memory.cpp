#include "topology/host_memory.hpp"

#include <algorithm>

namespace lockstep {

HostMemory host_memory_of_node(const Fabric& fabric, int node) {
  HostMemory all;
  bool size_known = true, bandwidth_known = true;
  for (const VertexId socket : fabric.sockets_of(node)) {
    const Vertex& vertex = fabric.vertices()[socket];
    all.size += vertex.memory;
    all.bandwidth += vertex.memory_bandwidth;
    size_known = size_known && vertex.memory > Bytes{0};
    bandwidth_known = bandwidth_known && vertex.memory_bandwidth > BytesPerSecond{0};
  }
  return {size_known ? all.size : Bytes{0}, bandwidth_known ? all.bandwidth : BytesPerSecond{0}};
}

void draw_host_memory(const std::set<int>& nodes, std::vector<Vertex>& vertices, std::vector<Link>& links) {
  std::vector<Link> writes, reads;
  const std::size_t drawn = vertices.size();
  for (VertexId id = 0; id < drawn; ++id) {
    const Vertex socket = vertices[id];
    if (socket.kind != VertexKind::CpuSocket || !nodes.contains(socket.node) ||
        !(socket.memory_bandwidth > BytesPerSecond{0})) {
      continue;
    }
    const auto memory = static_cast<VertexId>(vertices.size());
    vertices.push_back({VertexKind::HostMemory, socket.node, socket.index, socket.name + ".memory", ""});
    writes.push_back({id, memory, LinkKind::HostMemory, socket.memory_bandwidth / 2, Seconds{0}});
    reads.push_back({memory, id, LinkKind::HostMemory, socket.memory_bandwidth / 2, Seconds{0}});
  }
  links.insert(links.end(), writes.begin(), writes.end());
  links.insert(links.end(), reads.begin(), reads.end());
}

std::vector<LinkId> host_memory_links(const Fabric& fabric, VertexId socket) {
  // Drawn last: all that write, in the order of their sockets, then all that read.
  const auto links = fabric.links();
  const auto drawn =
      std::ranges::partition_point(links, [](const Link& link) { return link.kind != LinkKind::HostMemory; });
  const auto first = static_cast<std::size_t>(drawn - links.begin());
  const std::size_t sockets = (links.size() - first) / 2;
  const auto writes = links.subspan(first, sockets);
  const auto found = std::ranges::lower_bound(writes, socket, {}, &Link::from);
  if (found == writes.end() || found->from != socket) {
    return {};
  }
  const auto write = static_cast<std::size_t>(found - links.begin());
  return {static_cast<LinkId>(write), static_cast<LinkId>(write + sockets)};
}

}  // namespace lockstep
