#pragma once

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Within an open operator: the places of the ones of a mask of @p elements, whose number, @p found, the host
/// waits for (ATen/native/cuda/Nonzero.cu): indexing by a mask, masked_select.
void nonzero(StepWriter& step, std::int64_t elements, std::int64_t found);

}  // namespace lockstep
