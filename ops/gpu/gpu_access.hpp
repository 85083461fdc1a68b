#pragma once

#include <vector>

#include "base/config_path.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "topology/peer_access.hpp"

namespace lockstep {

/// The ways that a GPU model has to others and to NICs.
[[nodiscard]] GpuAccess access_of(const GpuSpec& gpu);

/// For each GPU of @p fabric, in rank order, by the configurations of the models drawn.
/// @throws std::invalid_argument for a model without one
[[nodiscard]] std::vector<GpuAccess> access_of_models(const Fabric& fabric, const ConfigPath& configs);

}  // namespace lockstep
