#include "topology/gpu_model.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep {

Fabric with_gpu_model(const Fabric& fabric, const std::string& model) {
  const auto is_such = [&](VertexId gpu) { return fabric.vertices()[gpu].model == model; };
  if (std::ranges::all_of(fabric.gpus(), is_such)) {
    return fabric;
  }
  std::vector<Vertex> vertices{fabric.vertices().begin(), fabric.vertices().end()};
  for (const VertexId gpu : fabric.gpus()) {
    vertices[gpu].model = model;
  }
  return Fabric::in_order_of(fabric, std::move(vertices), {fabric.links().begin(), fabric.links().end()});
}

}  // namespace lockstep
