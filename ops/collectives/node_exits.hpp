#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "topology/alike_nodes.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The NICs by which GPUs leave their nodes, and the ways to them. GPUs in the same place of copies
/// (topology/alike_nodes.hpp) are routed once, unless a hash of the ends chose the way. Keeps a reference.
class NodeExits {
 public:
  struct Way {
    Seconds latency;
    bool crosses_cpu = false;
  };

  explicit NodeExits(const Fabric& fabric) : fabric_{fabric}, nodes_{fabric.alike_nodes()} {}

  /// The first NIC on the way from @p gpu to @p other of another node; none where it passes none.
  std::optional<VertexId> nic_towards(VertexId gpu, VertexId other);

  /// The way from @p gpu to @p nic, which may be the GPU itself.
  Way way_to(VertexId gpu, VertexId nic);

 private:
  [[nodiscard]] std::optional<VertexId> routed_nic(VertexId gpu, VertexId other) const;
  [[nodiscard]] Way routed_way(VertexId gpu, VertexId nic) const;

  const Fabric& fabric_;
  const AlikeNodes& nodes_;
  /// Numbers in the node, by the class of the GPU and the other one.
  std::unordered_map<std::uint64_t, std::uint32_t> nics_;
  std::unordered_map<std::uint64_t, Way> ways_;  ///< by both classes
};

}  // namespace lockstep
