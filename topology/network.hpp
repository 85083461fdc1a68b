#pragma once

#include <vector>

#include "topology/cluster_spec.hpp"
#include "topology/drawing.hpp"

namespace lockstep {

/// A NIC and what it is plugged into the network with.
struct Port {
  VertexId nic = 0;
  int node = 0;
  int rail = 0;  ///< index of the NIC in its node
  Wire wire;
};

/// Adds leaves and spines to @p drawing and plugs the ports in.
/// @throws FieldError for an oversubscription without uplinks
void draw_network(const NetworkSpec& network, const std::vector<Port>& ports, Drawing& drawing);

}  // namespace lockstep
