#pragma once

#include <string>

#include "topology/fabric.hpp"
#include "topology/gpu_spec.hpp"

namespace lockstep {

/// The class of machines (configs/profiles) that was measured with this GPU, NVLink or not.
/// @throws std::invalid_argument where none belongs to the GPU
[[nodiscard]] std::string usual_profile(const Fabric& fabric, const GpuSpec& gpu);

/// The host (configs/hosts) that the GPU says stands in.
/// @throws std::invalid_argument where it says none
[[nodiscard]] std::string usual_host(const GpuSpec& gpu);

}  // namespace lockstep
