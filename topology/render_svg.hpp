#pragma once

#include <string>

#include "topology/fabric.hpp"

namespace lockstep {

/// The machine as an SVG picture: nodes as boxes, GPUs at their bottom (NVSwitches below them), the network
/// on top, a line per link as wide as its bandwidth. Every shape has a tooltip. Of large clusters the first
/// nodes.
[[nodiscard]] std::string to_svg(const Fabric& fabric);

}  // namespace lockstep
