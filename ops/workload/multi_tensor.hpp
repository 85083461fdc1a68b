#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// One launch of PyTorch's multi_tensor_apply.
struct MultiTensorLaunch {
  std::int64_t elements = 0;  ///< of each operand
  std::int64_t tensors = 0;   ///< begun, continued or ended in this launch

  bool operator==(const MultiTensorLaunch&) const = default;
};

/// How a list of tensors is cut into launches: chunks of 65,536 elements, at most 320 chunks and a number of
/// tensors that falls with the number of operands, because their addresses are kernel arguments.
/// @param elements of each tensor
/// @param operands tensor lists the operation works on, 1 to 5
/// *Source*: PyTorch aten/src/ATen/native/cuda/MultiTensorApply.cuh.
[[nodiscard]] std::vector<MultiTensorLaunch> multi_tensor_launches(std::span<const std::int64_t> elements,
                                                                   int operands);

}  // namespace lockstep
