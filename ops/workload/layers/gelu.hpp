#pragma once

#include <array>
#include <cstdint>

#include "base/parameters.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

// Arithmetic per element in FLOPs of the FP32 peak: two for each instruction that the FMA pipe executes in
// PyTorch's kernels (ActivationGeluKernel.cu, UnaryGeometricTanhKernel.cu) with CUDA 12's library; selects
// and bit operations have a pipe of their own (Volta, Turing, A100). erff: a square, seven FMAs whose
// coefficients |x| chooses, a sum; tanhf: both of its branches, nine; expf: six. On P100 and H100 all
// instructions share what the peak counts, up to twice as much, and moving the bytes still takes longer.
// NeuSight's FP32 times (arXiv 2407.13853; PyTorch 2.1) are those of a ReLU, which leaves GELU 110 at most
// (A100) and tanh 93.
inline constexpr double kGeluForward = 26, kGeluBackward = 46;
inline constexpr double kTanhGeluForward = 32, kTanhGeluBackward = 46;
inline constexpr double kTanhForward = 18, kTanhBackward = 3;
inline constexpr double kPow = 2;  ///< x^3 and x^2 are products (PowKernel.cu)

/// By normcdf: what 25,165,824 elements of 16 bits in 246.37 and 292.77 us are on a V100's 15.7 TFLOPS
/// (github.com/microsoft/onnxruntime/pull/16608; with erf 132 and 199 us, which is moving the bytes). Lin et
/// al. (arXiv 2201.07821) say 175 and 255 for PyTorch's of 2021.
inline constexpr double kNormcdfGeluForward = 154, kNormcdfGeluBackward = 183;

enum class Gelu : std::uint8_t {
  Fused,     ///< torch.nn.functional.gelu: one kernel each way, with erf
  Tanh,      ///< nn.GELU(approximate='tanh'): the tanh formula in one kernel each way
  Normcdf,   ///< torch.nn.functional.gelu before PyTorch 1.12: one kernel each way, with normcdf
  Composed,  ///< Hugging Face's gelu_new: the tanh formula written out in eight operators
};
constexpr auto names_of(Gelu) {
  return std::to_array<EnumName<Gelu>>({{Gelu::Fused, "fused"},
                                        {Gelu::Tanh, "tanh"},
                                        {Gelu::Normcdf, "normcdf"},
                                        {Gelu::Composed, "composed"}});
}

/// Arithmetic of an element where GELU is one kernel.
[[nodiscard]] double forward_flops(Gelu gelu);
[[nodiscard]] double backward_flops(Gelu gelu);

/// The type that GELU leaves behind: autocast computes pow(), and what follows from it, in FP32.
[[nodiscard]] DataType gelu_result_type(Gelu gelu, TensorTypes types);

void gelu_forward(StepWriter& step, Gelu gelu, std::int64_t elements);
void gelu_backward(StepWriter& step, Gelu gelu, std::int64_t elements);

}  // namespace lockstep
