#include "scenario/machine_defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace lockstep {
namespace {

bool has_links(const Fabric& fabric, LinkKind kind) {
  return std::ranges::any_of(fabric.links(), [kind](const Link& link) { return link.kind == kind; });
}

}  // namespace

std::string usual_profile(const Fabric& fabric, const GpuSpec& gpu) {
  const bool has_peers = fabric.vertices()[fabric.gpus().front()].p2p_level != P2pLevel::Loc;
  if (!has_peers || !has_links(fabric, LinkKind::NvLink)) {
    return "pcie";
  }
  const std::map<std::string, std::string> by_generation{{"v100", "dgx1v"},    {"p100", "dgx1v"},
                                                         {"a100", "dgx_a100"}, {"h100", "dgx_h100"},
                                                         {"h200", "dgx_h100"}, {"b200", "blackwell"}};
  for (const auto& [generation, profile] : by_generation) {
    if (gpu.name.find(generation) != std::string::npos) {
      return profile;
    }
  }
  throw std::invalid_argument{
      fmt::format("no collective profile belongs to GPU '{}': say collectives: {{ profile: NAME }} (lockstep "
                  "list profiles)",
                  gpu.name)};
}

std::string usual_host(const GpuSpec& gpu) {
  if (gpu.host.empty()) {
    throw std::invalid_argument{fmt::format(
        "no host belongs to GPU '{}': say host: NAME (lockstep list hosts), here or in the GPU's file",
        gpu.name)};
  }
  return gpu.host;
}

}  // namespace lockstep
