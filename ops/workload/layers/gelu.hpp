#pragma once

#include <array>
#include <cstdint>

#include "base/parameters.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

// Arithmetic per element as Lin et al. (arXiv 2201.07821) counted it in the SASS of PyTorch's kernels.
inline constexpr double kGeluForward = 175, kGeluBackward = 255, kPowTanhForward = 180, kTanhBackward = 260;

enum class Gelu : std::uint8_t {
  Fused,     ///< torch.nn.functional.gelu: one kernel each way
  Composed,  ///< Hugging Face's gelu_new: the tanh formula written out in eight operators
};
constexpr auto names_of(Gelu) {
  return std::to_array<EnumName<Gelu>>({{Gelu::Fused, "fused"}, {Gelu::Composed, "composed"}});
}

/// The type that GELU leaves behind: autocast computes pow(), and what follows from it, in FP32.
[[nodiscard]] DataType gelu_result_type(Gelu gelu, TensorTypes types);

void gelu_forward(StepWriter& step, Gelu gelu, std::int64_t elements);
void gelu_backward(StepWriter& step, Gelu gelu, std::int64_t elements);

}  // namespace lockstep
