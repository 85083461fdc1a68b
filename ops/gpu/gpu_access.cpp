#include "ops/gpu/gpu_access.hpp"

#include <map>
#include <string>

#include "base/yaml_reader.hpp"

namespace lockstep {

GpuAccess access_of(const GpuSpec& gpu) {
  return {gpu.pcie_peer_access, gpu.nic_access};
}

std::vector<GpuAccess> access_of_models(const Fabric& fabric, const ConfigPath& configs) {
  std::map<std::string, GpuAccess> known;
  std::vector<GpuAccess> access;
  for (const VertexId gpu : fabric.gpus()) {
    const std::string& model = fabric.vertices()[gpu].model;
    const auto [entry, is_new] = known.try_emplace(model);
    if (is_new) {
      entry->second = access_of(read_file<GpuSpec>(configs.find(GpuSpec::kConfigKind, model), configs));
    }
    access.push_back(entry->second);
  }
  return access;
}

}  // namespace lockstep
