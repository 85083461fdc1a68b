#pragma once

/// @file
/// Small machines with round numbers, so that tests can derive what to expect in their heads.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "topology/drawing.hpp"
#include "topology/fabric.hpp"

namespace lockstep::testing {

using namespace lockstep::literals;

inline const Wire kNvLink{LinkKind::NvLink, 50_GBps, 300_ns};
inline const Wire kPcie{LinkKind::Pcie, 16_GBps, 400_ns};
inline const Wire kSocket{LinkKind::Socket, 20_GBps, 500_ns};
inline const Wire kNetwork{LinkKind::Network, 25_GBps, 1_us};

inline Vertex gpu(int node, int index, bool forwards = false) {
  const auto name = node < 0 ? fmt::format("gpu{}", index) : fmt::format("node{}.gpu{}", node, index);
  return {VertexKind::Gpu, node, index, name, "test_gpu", forwards};
}

inline Vertex device(VertexKind kind, int node, int index) {
  const auto name = fmt::format("{}{}", to_string(kind), index);
  return {kind, node, index, node < 0 ? name : fmt::format("node{}.{}", node, name), ""};
}

struct NodeShapeOfTests {
  int gpus = 8;
  int nics = 8;           ///< dealt to the PCIe switches in order
  int pcie_switches = 4;  ///< GPUs and NICs are dealt to them in order; half of them on each socket
  bool nvswitch = true;
};

/// Adds a node: gpu - pcie_switch - cpu - cpu, NICs on the PCIe switches. Returns its NICs.
inline std::vector<VertexId> add_node(Drawing& drawing, int node, const NodeShapeOfTests& shape = {}) {
  std::vector<VertexId> sockets;
  for (int i = 0; i < 2; ++i) {
    sockets.push_back(drawing.add(device(VertexKind::CpuSocket, node, i)));
  }
  drawing.connect(sockets[0], sockets[1], kSocket);
  std::vector<VertexId> switches;
  for (int i = 0; i < shape.pcie_switches; ++i) {
    switches.push_back(drawing.add(device(VertexKind::PcieSwitch, node, i)));
    drawing.connect(switches.back(), sockets[static_cast<std::size_t>(2 * i / shape.pcie_switches)], kPcie);
  }
  const auto switch_of = [&](int i, int count) {
    return switches[static_cast<std::size_t>(i * shape.pcie_switches / count)];
  };
  std::vector<VertexId> gpus;
  for (int i = 0; i < shape.gpus; ++i) {
    gpus.push_back(drawing.add(gpu(node, i)));
    drawing.connect(gpus.back(), switch_of(i, shape.gpus), kPcie);
  }
  if (shape.nvswitch) {
    const auto crossbar = drawing.add(device(VertexKind::NvSwitch, node, 0));
    for (const auto id : gpus) {
      drawing.connect(id, crossbar, kNvLink);
    }
  }
  std::vector<VertexId> nics;
  for (int i = 0; i < shape.nics; ++i) {
    nics.push_back(drawing.add(device(VertexKind::Nic, node, i)));
    drawing.connect(nics.back(), switch_of(i, shape.nics), kPcie);
  }
  return nics;
}

/// Nodes whose NICs of index r go to leaf (node / nodes_per_leaf) of rail r; every leaf to every spine.
inline Drawing rail_cluster(int nodes, int spines, int nodes_per_leaf = 1024,
                            const NodeShapeOfTests& shape = {}) {
  Drawing drawing;
  const int groups = (nodes + nodes_per_leaf - 1) / nodes_per_leaf;
  std::vector<VertexId> leaves;
  for (int i = 0; i < groups * shape.nics; ++i) {
    leaves.push_back(drawing.add(device(VertexKind::LeafSwitch, -1, i)));
  }
  for (int i = 0; i < spines; ++i) {
    const auto spine = drawing.add(device(VertexKind::SpineSwitch, -1, i));
    for (const auto leaf : leaves) {
      drawing.connect(leaf, spine, kNetwork);
    }
  }
  for (int node = 0; node < nodes; ++node) {
    const auto nics = add_node(drawing, node, shape);
    for (std::size_t rail = 0; rail < nics.size(); ++rail) {
      drawing.connect(nics[rail],
                      leaves[static_cast<std::size_t>(node / nodes_per_leaf) * nics.size() + rail], kNetwork);
    }
  }
  return drawing;
}

inline Fabric build(Drawing drawing) {
  return {std::move(drawing.vertices), std::move(drawing.links)};
}

inline VertexId find(const Fabric& fabric, std::string_view name) {
  const auto vertices = fabric.vertices();
  const auto found = std::ranges::find(vertices, name, &Vertex::name);
  return static_cast<VertexId>(found - vertices.begin());
}

/// The names along a route: `a b c`.
inline std::string path(const Fabric& fabric, std::string_view from, std::string_view to,
                        std::uint64_t flow = 0) {
  std::string names{from};
  for (const LinkId link : fabric.route(find(fabric, from), find(fabric, to), flow).links) {
    names += " " + fabric.vertices()[fabric.links()[link].to].name;
  }
  return names;
}

}  // namespace lockstep::testing
