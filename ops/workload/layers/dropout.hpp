#pragma once

#include <cstdint>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// native_dropout of so many elements: also writes a mask of one byte each, which backward reads.
void dropout_forward(StepWriter& step, std::int64_t elements, DataType type);
void dropout_backward(StepWriter& step, std::int64_t elements, DataType type);

}  // namespace lockstep
