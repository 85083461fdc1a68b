#pragma once

#include <array>
#include <cstdint>

#include "base/parameters.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

// Arithmetic per element as Lin et al. (arXiv 2201.07821) counted it in the SASS of PyTorch's kernels.
inline constexpr double kGeluForward = 175, kGeluBackward = 255, kPowTanhForward = 180, kTanhBackward = 260;

/// Of the tanh formula in one kernel. At most 50 forward: 537 million elements of 16 bits take 1.38 ms on an
/// A100 (LLMCompass, arXiv 2312.03134, gelu_A100.csv), as long as moving them does; backward in proportion of
/// the counts above.
inline constexpr double kTanhGeluForward = 50, kTanhGeluBackward = 73;

enum class Gelu : std::uint8_t {
  Fused,     ///< torch.nn.functional.gelu: one kernel each way
  Tanh,      ///< nn.GELU(approximate='tanh'): the tanh formula in one kernel each way
  Composed,  ///< Hugging Face's gelu_new: the tanh formula written out in eight operators
};
constexpr auto names_of(Gelu) {
  return std::to_array<EnumName<Gelu>>(
      {{Gelu::Fused, "fused"}, {Gelu::Tanh, "tanh"}, {Gelu::Composed, "composed"}});
}

/// Arithmetic of an element where GELU is one kernel.
[[nodiscard]] double forward_flops(Gelu gelu);
[[nodiscard]] double backward_flops(Gelu gelu);

/// The type that GELU leaves behind: autocast computes pow(), and what follows from it, in FP32.
[[nodiscard]] DataType gelu_result_type(Gelu gelu, TensorTypes types);

void gelu_forward(StepWriter& step, Gelu gelu, std::int64_t elements);
void gelu_backward(StepWriter& step, Gelu gelu, std::int64_t elements);

}  // namespace lockstep
