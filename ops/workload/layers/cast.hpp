#pragma once

#include <cstdint>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep::kernels {

/// A cast as the step's PyTorch has it (FrameworkSpec::vectorized_casts).
[[nodiscard]] inline KernelCall cast(const StepWriter& step, std::int64_t elements, DataType from,
                                     DataType to) {
  return cast(elements, from, to, step.framework().vectorized_casts);
}

}  // namespace lockstep::kernels
