#include "topology/gpu_model.hpp"

#include <utility>
#include <vector>

namespace lockstep {

Fabric with_gpu_model(const Fabric& fabric, const std::string& model) {
  std::vector<Vertex> vertices{fabric.vertices().begin(), fabric.vertices().end()};
  for (const VertexId gpu : fabric.gpus()) {
    vertices[gpu].model = model;
  }
  return Fabric::in_order_of(fabric, std::move(vertices), {fabric.links().begin(), fabric.links().end()});
}

}  // namespace lockstep
