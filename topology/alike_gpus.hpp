#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// The class of each of @p gpus, by place there: GPUs are alike when links of one kind, bandwidth and latency
/// join them to the same devices, and they have the same rights. To swap two of them changes no distance, so
/// what holds of one pair of two classes holds of all their pairs. Classes count from 0, by their first GPU.
/// @param vertices those of @p fabric, perhaps with other rights
[[nodiscard]] std::vector<std::uint32_t> classes_of_alike(const Fabric& fabric,
                                                          std::span<const Vertex> vertices,
                                                          std::span<const VertexId> gpus);

}  // namespace lockstep
