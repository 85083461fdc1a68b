#pragma once

#include <string>

#include "topology/fabric.hpp"

namespace lockstep {

/// The machine in Graphviz's DOT language: GPUs, switches, NICs as shapes, one edge for the two directions of
/// a link when they are alike, labelled with its bandwidth.
[[nodiscard]] std::string to_dot(const Fabric& fabric);

}  // namespace lockstep
