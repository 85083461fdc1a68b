#include "topology/host_memory.hpp"

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

}  // namespace lockstep
