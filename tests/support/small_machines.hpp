#pragma once

/// @file
/// Machines drawn by hand, whose collectives can be worked out on paper.

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep::testing {

using namespace lockstep::literals;

/// Vertices and two-way links, one call each.
class Sketch {
 public:
  VertexId add(VertexKind kind, int node, int index, const std::string& name) {
    vertices_.push_back({kind, node, index, name, kind == VertexKind::Gpu ? "any" : ""});
    return static_cast<VertexId>(vertices_.size() - 1);
  }
  void connect(VertexId a, VertexId b, LinkKind kind, BytesPerSecond bandwidth, Seconds latency) {
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
      links_.push_back({from, to, kind, bandwidth, latency,
                        fmt::format("{}->{}#{}", vertices_[from].name, vertices_[to].name, links_.size())});
    }
  }
  [[nodiscard]] Fabric fabric() const { return {vertices_, links_}; }

 private:
  std::vector<Vertex> vertices_;
  std::vector<Link> links_;
};

/// @p gpus GPUs, each with 300 GB/s and 0.25 us to one NVSwitch (a DGX A100's node as seen by traffic).
inline std::vector<VertexId> add_switched_node(Sketch& sketch, int node, int gpus,
                                               BytesPerSecond bandwidth = 300_GBps) {
  const VertexId hub = sketch.add(VertexKind::NvSwitch, node, 0, fmt::format("node{}.nvswitch0", node));
  std::vector<VertexId> result;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    result.push_back(sketch.add(VertexKind::Gpu, node, gpu, fmt::format("node{}.gpu{}", node, gpu)));
    sketch.connect(result.back(), hub, LinkKind::NvLink, bandwidth, Seconds{0.25e-6});
  }
  return result;
}

inline Fabric switched_node(int gpus, BytesPerSecond bandwidth = 300_GBps) {
  Sketch sketch;
  add_switched_node(sketch, 0, gpus, bandwidth);
  return sketch.fabric();
}

/// The hybrid cube mesh of a DGX-1V: 16 pairs, six 25 GB/s NVLinks a GPU, and PCIe (12 GB/s) behind them.
/// Source: NVIDIA DGX-1 with Tesla V100 system architecture, white paper WP-08437-002, fig. 4 (lanes as
/// printed by `nvidia-smi topo -m` on p3.16xlarge).
inline Fabric hybrid_cube_mesh(bool wide_as_one_link = false) {
  Sketch sketch;
  std::vector<VertexId> gpus;
  const VertexId socket = sketch.add(VertexKind::CpuSocket, 0, 0, "node0.cpu0");
  for (int gpu = 0; gpu < 8; ++gpu) {
    gpus.push_back(sketch.add(VertexKind::Gpu, 0, gpu, fmt::format("node0.gpu{}", gpu)));
    sketch.connect(gpus.back(), socket, LinkKind::Pcie, 12_GBps, Seconds{1e-6});
  }
  struct Pair {
    std::size_t a, b;
    int links;
  };
  constexpr std::array<Pair, 16> kPairs{{{0, 1, 1},
                                         {0, 2, 1},
                                         {0, 3, 2},
                                         {0, 4, 2},
                                         {1, 2, 2},
                                         {1, 3, 1},
                                         {1, 5, 2},
                                         {2, 3, 2},
                                         {2, 6, 1},
                                         {3, 7, 1},
                                         {4, 5, 1},
                                         {4, 6, 1},
                                         {4, 7, 2},
                                         {5, 6, 2},
                                         {5, 7, 1},
                                         {6, 7, 2}}};
  for (const Pair& pair : kPairs) {
    if (wide_as_one_link) {
      sketch.connect(gpus[pair.a], gpus[pair.b], LinkKind::NvLink, pair.links * 25_GBps, Seconds{0.7e-6});
      continue;
    }
    for (int link = 0; link < pair.links; ++link) {
      sketch.connect(gpus[pair.a], gpus[pair.b], LinkKind::NvLink, 25_GBps, Seconds{0.7e-6});
    }
  }
  return sketch.fabric();
}

/// @p nodes switched nodes of @p gpus GPUs; each GPU has its own 25 GB/s NIC, and NIC i of all nodes meets at
/// leaf i; leaves meet at one spine.
inline Fabric rail_cluster(int nodes, int gpus) {
  Sketch sketch;
  std::vector<VertexId> leaves;
  const VertexId spine = sketch.add(VertexKind::SpineSwitch, -1, 0, "spine0");
  for (int rail = 0; rail < gpus; ++rail) {
    leaves.push_back(sketch.add(VertexKind::LeafSwitch, -1, rail, fmt::format("leaf{}", rail)));
    sketch.connect(leaves.back(), spine, LinkKind::Network, 400_GBps, Seconds{0.5e-6});
  }
  for (int node = 0; node < nodes; ++node) {
    const std::vector<VertexId> members = add_switched_node(sketch, node, gpus);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const auto rail = static_cast<std::size_t>(gpu);
      const VertexId nic = sketch.add(VertexKind::Nic, node, gpu, fmt::format("node{}.nic{}", node, gpu));
      sketch.connect(members[rail], nic, LinkKind::Pcie, 25_GBps, Seconds{0.5e-6});
      sketch.connect(nic, leaves[rail], LinkKind::Network, 25_GBps, Seconds{1e-6});
    }
  }
  return sketch.fabric();
}

inline std::vector<VertexId> all_gpus(const Fabric& fabric) {
  return {fabric.gpus().begin(), fabric.gpus().end()};
}

}  // namespace lockstep::testing
