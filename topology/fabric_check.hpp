#pragma once

#include <span>
#include <string>

#include "topology/fabric.hpp"

namespace lockstep {

/// Checks what Fabric's constructor promises about its arguments.
/// @throws std::invalid_argument naming what is wrong
void check_vertices(std::span<const Vertex> vertices);
void check_links(std::span<const Vertex> vertices, std::span<const Link> links);
void check_names(std::span<const std::string> links);

/// @param copies of the same machine: what holds of two nodes of each kind holds of all
/// @throws std::invalid_argument naming two GPUs of which the second cannot be reached from the first
void check_reachable(std::span<const Vertex> vertices, std::span<const Link> links, const AlikeNodes& copies);

}  // namespace lockstep
