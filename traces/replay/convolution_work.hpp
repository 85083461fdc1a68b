#pragma once

#include "traces/replay/operator_work.hpp"

namespace lockstep::replay {

/// Convolutions forward and backward: the kernels of each pass (products, Winograd's transforms, reductions
/// of split products), and apart from them the changes of layout around those that want channels last.
/// A backward pass whose kernels cannot be told apart is one work of both its passes.
[[nodiscard]] std::vector<ModelledWork> convolution_work(const OperatorLaunches& op,
                                                         const ConvolutionOutputs& outputs);

/// FP32 that a kernel's name says is multiplied on tensor cores is TF32.
[[nodiscard]] DataType multiplied_as(DataType type, const std::string& kernel);

}  // namespace lockstep::replay
