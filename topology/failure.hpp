#pragma once

#include <span>
#include <string>

#include "topology/fabric.hpp"

namespace lockstep {

/// A copy of @p fabric in which some things have failed: what travels is routed around them.
/// @param failed names or patterns of links and devices (`node0.nic3`, `leaf2->spine*`). A link fails with
/// its
///   other direction, a device with all its links. Devices stay where they are, so that ranks keep their
///   numbers
/// @throws std::invalid_argument for a name that stands for nothing or for a GPU, and when what is left falls
/// apart:
///   two GPUs that cannot reach each other any more, or a GPU that lost its way to the host's memory
[[nodiscard]] Fabric without_failed(const Fabric& fabric, std::span<const std::string> failed);

}  // namespace lockstep
