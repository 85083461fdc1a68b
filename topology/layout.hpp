#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

struct Point {
  double x = 0;
  double y = 0;
};

/// A node of the cluster.
struct Frame {
  Point corner;  ///< top left
  double width = 0;
  double height = 0;
  std::string title;
};

/// Positions of a drawing's things, in pixels. Rows from the top: cores, spines, leaves; in each node NICs,
/// sockets, PCIe switches from the socket down, GPUs, NVSwitches.
struct Layout {
  double width = 0;
  double height = 0;
  std::vector<std::optional<Point>> centres;  ///< by vertex; none for what is left out
  std::vector<Frame> frames;
  int nodes_left_out = 0;
};

/// @param most_nodes how many nodes are drawn; where there are more, two of each kind of alike ones are, and
/// the
///     frame of the second one says how many are like it
[[nodiscard]] Layout lay_out(const Fabric& fabric, int most_nodes = 8);

}  // namespace lockstep
