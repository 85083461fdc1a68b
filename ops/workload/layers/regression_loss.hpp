#pragma once

#include <cstdint>

#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Mean loss over @p rows predictions.
void regression_loss_forward(StepWriter& step, DlrmLoss loss, std::int64_t rows);
void regression_loss_backward(StepWriter& step, DlrmLoss loss, std::int64_t rows);

}  // namespace lockstep
