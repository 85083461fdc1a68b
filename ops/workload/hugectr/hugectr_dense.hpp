#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// HugeCTR's layers between the tables and the loss. Bias and activation are in the products' epilogues, both
/// ways (cublasLt: RELU_BIAS, DRELU_BGRAD); weights are kept in the products' type beside FP32 ones.
/// *Source*: NVIDIA-Merlin/HugeCTR, HugeCTR/src/layers/{mlp,multi_cross}_layer.cu.
struct HugeCtrMlp {
  std::int64_t rows = 0;
  std::vector<std::int64_t> widths;  ///< from the input's on
};

void hugectr_mlp_forward(StepWriter& step, const HugeCtrMlp& mlp);
/// @param input_gradient whether the first layer's input needs a gradient
void hugectr_mlp_backward(StepWriter& step, const HugeCtrMlp& mlp, bool input_gradient);

/// Low-rank cross layers of DCNv2 (Wang et al., arXiv 2008.13535): x_{l+1} = x_0 (x_l U V + b) + x_l, with U
/// of width x projection. A layer: two products and an element-wise kernel forward; one and four products
/// backward (of V, x U, U and x, the last added to the gradient that passes by), and at the end a sum.
struct HugeCtrCross {
  std::int64_t rows = 0, width = 0, projection = 0;
  int layers = 0;
};

void hugectr_cross_forward(StepWriter& step, const HugeCtrCross& cross);
void hugectr_cross_backward(StepWriter& step, const HugeCtrCross& cross);

/// Elements of the parameters.
[[nodiscard]] std::int64_t parameters_of(const HugeCtrMlp& mlp);
[[nodiscard]] std::int64_t parameters_of(const HugeCtrCross& cross);

}  // namespace lockstep
