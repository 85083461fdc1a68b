#pragma once

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

}  // namespace lockstep
