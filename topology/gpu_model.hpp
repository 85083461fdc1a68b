#pragma once

#include <string>

#include "topology/fabric.hpp"

namespace lockstep {

/// The same machine with GPUs of another model in the places of its own.
/// @param model the name of a GpuSpec (Vertex::model)
[[nodiscard]] Fabric with_gpu_model(const Fabric& fabric, const std::string& model);

}  // namespace lockstep
