#pragma once

#include "traces/replay/operator_work.hpp"

namespace lockstep::replay {

/// Element-wise operators, dropout and pooling: tensors that are read and written once. An operator that
/// launched kernels of several names did something else.
[[nodiscard]] std::vector<ModelledWork> pointwise_work(const OperatorLaunches& op);

}  // namespace lockstep::replay
