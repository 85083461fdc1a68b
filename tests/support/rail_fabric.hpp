#pragma once

#include <fmt/format.h>

#include "topology/fabric.hpp"

namespace lockstep::testing {

/// Nodes of 8 GPUs (450 GB/s to their NVSwitch), a NIC per GPU (50 GB/s, PCIe 63 GB/s), one leaf switch per
/// rail and 32 nodes, 8 spines (200 GB/s per leaf): the machine of the design's measurements.
/// @param nics of a node; fewer than 8 are shared by GPUs of equal index modulo their number
inline Fabric rail_fabric(int nodes, int nics = 8) {
  constexpr int kGpus = 8;
  constexpr int kNodesPerLeaf = 32;
  constexpr int kSpines = 8;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  const auto vertex = [&](VertexKind kind, int node, int index, std::string name) {
    vertices.push_back({kind, node, index, std::move(name), kind == VertexKind::Gpu ? "test_gpu" : ""});
    return static_cast<VertexId>(vertices.size() - 1);
  };
  const auto join = [&](VertexId a, VertexId b, LinkKind kind, double gigabytes) {
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
      links.push_back({from, to, kind, BytesPerSecond{gigabytes * 1e9}, Seconds{1e-6},
                       vertices[from].name + "->" + vertices[to].name});
    }
  };
  const int pods = (nodes + kNodesPerLeaf - 1) / kNodesPerLeaf;
  std::vector<VertexId> leaves;
  for (int leaf = 0; leaf < pods * kGpus; ++leaf) {
    leaves.push_back(vertex(VertexKind::LeafSwitch, -1, leaf, fmt::format("leaf{}", leaf)));
  }
  for (int spine = 0; pods > 1 && spine < kSpines; ++spine) {
    const VertexId top = vertex(VertexKind::SpineSwitch, -1, spine, fmt::format("spine{}", spine));
    for (const VertexId leaf : leaves) {
      join(leaf, top, LinkKind::Network, 200);
    }
  }
  for (int node = 0; node < nodes; ++node) {
    const auto named = [&](const char* kind, int index) {
      return fmt::format("node{}.{}{}", node, kind, index);
    };
    const VertexId cpu = vertex(VertexKind::CpuSocket, node, 0, named("cpu", 0));
    const VertexId nvswitch = vertex(VertexKind::NvSwitch, node, 0, named("nvswitch", 0));
    std::vector<VertexId> nic_of(static_cast<std::size_t>(nics));
    for (int i = 0; i < kGpus; ++i) {
      const VertexId gpu = vertex(VertexKind::Gpu, node, i, named("gpu", i));
      const VertexId pcie = vertex(VertexKind::PcieSwitch, node, i, named("pcie", i));
      VertexId& nic = nic_of[static_cast<std::size_t>(i % nics)];
      join(gpu, nvswitch, LinkKind::NvLink, 450);
      join(gpu, pcie, LinkKind::Pcie, 63);
      if (i < nics) {
        nic = vertex(VertexKind::Nic, node, i, named("nic", i));
      }
      join(pcie, nic, LinkKind::Pcie, 63);
      join(pcie, cpu, LinkKind::Pcie, 63);
      if (i < nics) {
        join(nic, leaves[static_cast<std::size_t>(node / kNodesPerLeaf * kGpus + i)], LinkKind::Network, 50);
      }
    }
  }
  return Fabric{std::move(vertices), std::move(links)};
}

}  // namespace lockstep::testing
