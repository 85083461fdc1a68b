#pragma once

#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

struct MachineDrawing {
  int most_nodes = 8;  ///< that are drawn; a frame says how many are like its node
  /// Share of its bandwidth that a link is used, by its number: colours the lines. Empty: they have the
  /// colour of their kind.
  std::vector<double> used{};
};

/// The machine as an SVG picture: nodes as boxes, GPUs at their bottom (NVSwitches below them), the network
/// on top, a line per link as wide as its bandwidth. Every shape has a tooltip. Of many nodes those that
/// differ are drawn.
[[nodiscard]] std::string to_svg(const Fabric& fabric, const MachineDrawing& drawing = {});

}  // namespace lockstep
