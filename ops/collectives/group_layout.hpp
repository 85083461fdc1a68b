#pragma once

#include <span>
#include <vector>

#include "ops/collectives/nvlinks.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Places of the members of a process group, and the rings through them: one ring a channel. Each ring
/// visits all members, those of a node one after another. Positions count from 0 in the group's order.
struct GroupLayout {
  std::vector<std::vector<int>> nodes;  ///< positions, by node in the order in which the group meets them
  std::vector<int> node_of;             ///< index into `nodes`, by position
  std::vector<std::vector<int>> rings;  ///< at least one
  bool switched = false;                ///< every member has an NVLink to an NVSwitch
  std::vector<int> number_of;           ///< of the GPU in its node, by position
  /// The member of the node that is nearest to the NIC nearest to each position, as a rule itself. -1: none
  /// that the others have NVLinks to and that reaches the NIC without crossing a CPU.
  std::vector<int> at_nic;

  [[nodiscard]] int members() const { return static_cast<int>(node_of.size()); }
  /// Who sends what @p src has for @p dst over the network: the member of src's node at the NIC of dst's
  /// rail, or src itself where there is none, and inside a node.
  [[nodiscard]] int relay_of(int src, int dst) const;
  /// Some messages between nodes have a relay that is not their sender.
  [[nodiscard]] bool has_relays() const;
  [[nodiscard]] int channels() const { return static_cast<int>(rings.size()); }
};

/// A layout without a machine: nodes of @p per_node members in order of position, one ring in that order, a
/// NIC for each member.
/// @throws std::invalid_argument unless members >= 1 and per_node >= 1
[[nodiscard]] GroupLayout uniform_layout(int members, int per_node);

/// The layout of @p members on @p fabric, as NCCL's graph search would lay its rings (docs/collectives.md):
///   GPUs joined by direct NVLinks   as many rings as the links allow without sharing one (find_rings); pairs
///   that
///                                   are all equally wide are halved when that leaves fewer links idle
///   NVSwitch, PCIe                  one ring, neighbours by position, switch and socket
///   several nodes                   one ring a NIC (rail): it enters a node at one NIC's GPU and leaves at
///                                   another's, every second node in reverse, so that messages between nodes
///                                   keep to their rail
/// @param nvlinks those of @p fabric
/// @param members GPUs, each once, in group order
/// @throws std::invalid_argument when members is empty, names a vertex twice or one that is not a GPU
[[nodiscard]] GroupLayout lay_out(const Fabric& fabric, const NvLinks& nvlinks,
                                  std::span<const VertexId> members);

}  // namespace lockstep
