#pragma once

#include <cstdint>

#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The interaction of a DLRM: every pair of features (dense and sparse) multiplied, or all concatenated
/// (cross layers follow: CrossShape).
struct InteractionShape {
  std::int64_t rows = 0;         ///< samples of this rank
  std::int64_t features = 0;     ///< tables + 1
  std::int64_t dense_width = 0;  ///< of the bottom MLP's output; dot: of every feature
  std::int64_t input_width = 0;  ///< of all features together
  std::int64_t pieces = 2;       ///< tensors that are concatenated
  Interaction kind = Interaction::Dot;
  InteractionKernels kernels = InteractionKernels::Pytorch;
  bool indices_on_host = true;
  DataType type = DataType::FP32;  ///< of the features
  bool dense_is_part = false;  ///< the dense features are a slice of all of them, not a tensor beside them

  [[nodiscard]] std::int64_t pairs() const { return features * (features - 1) / 2; }
};

/// Makes the top MLP's input from the pieces. With torch.autocast FP32 features are cast before the product,
/// and its result stays in 16 bits. Fused: all features read once, d + pairs elements written; products on
/// CUDA cores' rate (they take less than the memory).
/// *Source*: facebookresearch/dlrm, dlrm_s_pytorch.py (interact_features); NVIDIA/DeepLearningExamples,
/// dlrm/cuda_ext/dot_based_interact.py.
void interaction_forward(StepWriter& step, const InteractionShape& shape);

/// Makes the gradients of the dense and sparse features from that of the top MLP's input.
void interaction_backward(StepWriter& step, const InteractionShape& shape);

}  // namespace lockstep
