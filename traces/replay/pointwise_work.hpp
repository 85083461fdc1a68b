#pragma once

#include <string_view>

#include "traces/replay/operator_work.hpp"

namespace lockstep::replay {

/// Element-wise operators, dropout and pooling: tensors that are read and written once. An operator that
/// launched kernels of several names did something else. Kernels go through contiguous operands by vectors,
/// or an element at a time (kernels::kUnvectorised): where types differ, or where an operand is broadcast. Of
/// one that computes offsets without that, an operand is strided in a way that shapes do not tell: nothing.
[[nodiscard]] std::vector<ModelledWork> pointwise_work(const OperatorLaunches& op);

/// Whether an element-wise kernel of PyTorch computes the offset of each element, by the kernel's name.
[[nodiscard]] bool computes_offsets(std::string_view kernel);

}  // namespace lockstep::replay
