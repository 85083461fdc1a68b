#pragma once

#include <array>
#include <cstdint>

#include "base/parameters.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Work per element in one direction. `flops` are of the FP32 peak, two for each instruction of the FMA pipe;
/// `instructions` all that a thread issues, with its share of offsets, loads and conversions.
struct GeluWork {
  double flops = 0, instructions = 0;
};

// Counted in PyTorch's kernels (ActivationGeluKernel.cu, UnaryGeometricTanhKernel.cu) with CUDA 12's library.
// erff: a square, seven FMAs whose nine operands |x| chooses, a sum, an exponential, a sign; tanhf: both of
// its branches, 16; expf: eight. BF16 on an H100 took 1.57 ps an element forward
// (github.com/pytorch/pytorch/pull/141959, before it), which is 34 instructions at the rate that
// PointwiseModel issues them; PyTorch 2.11 takes 1.35 forward and 1.87 backward (4 million elements,
// calibration/measurements/h100/pytorch_pointwise.csv), 28 and 38; an A100 3.1, 8 % more than a ReLU; by the
// tanh formula 2.6 on an A100, 33 at most (LLMCompass, arXiv 2312.03134, gelu_A100.csv). NeuSight's FP32
// times (arXiv 2407.13853; PyTorch 2.1) are those of a ReLU.
inline constexpr GeluWork kGeluForward{26, 28}, kGeluBackward{46, 38};
inline constexpr GeluWork kTanhGeluForward{32, 33}, kTanhGeluBackward{46, 43};
inline constexpr double kTanhForward = 18, kTanhBackward = 3;
inline constexpr double kPow = 2;  ///< x^3 and x^2 are products (PowKernel.cu)

/// Work of GELU by normcdf: 25,165,824 elements of 16 bits in 246.37 and 292.77 us at a V100's 15.7 TFLOPS
/// (github.com/microsoft/onnxruntime/pull/16608; with erf 132 and 199 us, which is moving the bytes). Lin et
/// al. (arXiv 2201.07821) say 175 and 255 for PyTorch's of 2021.
inline constexpr GeluWork kNormcdfGeluForward{154, 0}, kNormcdfGeluBackward{183, 0};

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

/// Work on an element where GELU is one kernel.
[[nodiscard]] GeluWork forward_work(Gelu gelu);
[[nodiscard]] GeluWork backward_work(Gelu gelu);

/// The type that GELU leaves behind: autocast computes pow(), and what follows from it, in FP32.
[[nodiscard]] DataType gelu_result_type(Gelu gelu, TensorTypes types);

void gelu_forward(StepWriter& step, Gelu gelu, std::int64_t elements);
void gelu_backward(StepWriter& step, Gelu gelu, std::int64_t elements);

}  // namespace lockstep
