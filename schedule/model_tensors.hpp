#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/model_spec.hpp"

namespace lockstep {

/// Elements of each parameter of a whole model, embedding tables of a DLRM aside.
struct ModelTensors {
  std::vector<std::int64_t> dense;
  std::vector<std::int64_t> expert;  ///< of every expert by itself

  [[nodiscard]] double elements() const;
};

/// Lists parameters in the order of the modules, as the writers of the model families have them.
[[nodiscard]] ModelTensors model_tensors(const ModelSpec& model);

}  // namespace lockstep
