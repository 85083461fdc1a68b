#pragma once

#include <string>
#include <vector>

#include "scenario/overrides.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The machine that a text stands for: a cluster as in a scenario (`dgx_a100 x 4`, a name, a file of a
/// cluster or node), one in place (`{ nodes: [dgx_a100 x 4] }`), or a scenario (its name, file or folder)
/// with the links that have faults or failed.
/// @param overrides of the scenario
/// @throws InputError with everything that is wrong; std::invalid_argument for overrides of no scenario
[[nodiscard]] Fabric machine_called(const std::string& text, const std::vector<Override>& overrides);

}  // namespace lockstep
