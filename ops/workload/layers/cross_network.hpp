#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Low-rank cross layers of DCNv2 (Wang et al., arXiv 2008.13535) as TorchRec writes them:
/// x_{l+1} = x_0 (x_l W V + b) + x_l, W of width x projection. None where layers is 0.
struct CrossShape {
  std::int64_t rows = 0, width = 0, projection = 0;
  int layers = 0;
  DataType type = DataType::FP32;  ///< of x; with torch.autocast FP32 x is cast before its product
};

/// A layer: two aten::linear without bias, an addition of the bias, a product and an addition.
/// *Source*: torchrec/modules/crossnet.py (LowRankCrossNet).
void cross_forward(StepWriter& step, const CrossShape& cross);

/// A layer, from the gradient of its output, which passes to x_l: products with x_0 and with what it was
/// multiplied by, the bias's sum, both linears; gradients of x_0 and x_l added up.
void cross_backward(StepWriter& step, const CrossShape& cross, GradientSink& gradients);

/// Elements of the parameters, W, V and bias of each layer in turn.
[[nodiscard]] std::vector<std::int64_t> parameters_of(const CrossShape& cross);

}  // namespace lockstep
