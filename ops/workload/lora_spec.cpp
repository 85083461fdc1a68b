#include "ops/workload/lora_spec.hpp"

#include <fmt/format.h>

namespace lockstep {

void LoraSpec::check() const {
  if (rank < 1) {
    throw FieldError{"rank", fmt::format("must be at least 1, not {}", rank)};
  }
  if (target_modules.empty()) {
    throw FieldError{"target_modules", "names no module: nothing would be trained"};
  }
  for (const LoraModule module : target_modules) {
    if (std::count(target_modules.begin(), target_modules.end(), module) > 1) {
      throw FieldError{"target_modules", fmt::format("'{}' is named twice", name_of(module))};
    }
  }
}

}  // namespace lockstep
