#include "schedule/gpu_power.hpp"

#include <algorithm>

#include "base/yaml_reader.hpp"

namespace lockstep {

void GpuPower::check() const {
  if (!(tdp.watts > 0)) {
    throw FieldError{"tdp", "a GPU takes more than 0 W"};
  }
  if (!(idle_share >= 0 && busy_share >= idle_share)) {
    throw FieldError{"busy_share", "a busy GPU takes at least what an idle one does, which is not negative"};
  }
}

std::optional<GpuPower> known_power(const std::string& gpu, const ConfigPath& configs) {
  const std::vector<std::string> names = configs.names(GpuPower::kConfigKind);
  if (std::ranges::find(names, gpu) == names.end()) {
    return std::nullopt;
  }
  return read_file<GpuPower>(configs.find(GpuPower::kConfigKind, gpu), configs);
}

}  // namespace lockstep
