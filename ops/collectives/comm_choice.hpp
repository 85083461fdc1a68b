#pragma once

#include <array>
#include <cstdint>

#include "base/parameters.hpp"

namespace lockstep {

/// How a collective is cut into messages.
enum class CommAlgorithm : std::uint8_t {
  Ring,          ///< neighbours on a ring through all members
  Tree,          ///< double binary tree over nodes, chains inside them
  Direct,        ///< every member with every other
  Hierarchical,  ///< inside the nodes, then between equal places of the nodes
  Nvls,          ///< the NVSwitches of a node add and copy
  NvlsTree,      ///< likewise in every node, and trees between the nodes
  Pxn,           ///< direct, changing rails over NVLink before the network
  Pat,           ///< a binomial tree for each piece, all at once
};

/// How a message is copied: NCCL's three protocols.
enum class CommProtocol : std::uint8_t {
  LL,      ///< 4 B of flag with every 4 B of payload: lowest latency, half the bandwidth
  LL128,   ///< 8 B of flag in every 128 B line
  Simple,  ///< plain copies, a flag per chunk: full bandwidth
};

constexpr auto names_of(CommAlgorithm /*unused*/) {
  return std::to_array<EnumName<CommAlgorithm>>({{CommAlgorithm::Ring, "ring"},
                                                 {CommAlgorithm::Tree, "tree"},
                                                 {CommAlgorithm::Direct, "direct"},
                                                 {CommAlgorithm::Hierarchical, "hierarchical"},
                                                 {CommAlgorithm::Nvls, "nvls"},
                                                 {CommAlgorithm::NvlsTree, "nvls_tree"},
                                                 {CommAlgorithm::Pxn, "pxn"},
                                                 {CommAlgorithm::Pat, "pat"}});
}

constexpr auto names_of(CommProtocol /*unused*/) {
  return std::to_array<EnumName<CommProtocol>>(
      {{CommProtocol::LL, "LL"}, {CommProtocol::LL128, "LL128"}, {CommProtocol::Simple, "Simple"}});
}

}  // namespace lockstep
