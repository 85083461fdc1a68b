#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// BertAdam of pytorch-pretrained-BERT: a loop in Python over the parameters. Each one's gradient is clipped
/// by its own norm, which the host reads to decide; then come ten element-wise operators, twelve with weight
/// decay, each a kernel of its own that passes over memory.
///
/// *Assumes* that no gradient is above the limit by itself, so that none is multiplied: where all gradients
/// were clipped together before, it cannot be.
/// *Source*: NVIDIA DeepLearningExamples, PyTorch/LanguageModeling/BERT/optimization.py, class BertAdam;
/// torch/nn/utils/clip_grad.py of PyTorch 1.6.
/// @param parameters elements of each parameter
/// @param decays whether a parameter of so many elements decays; none given: all do
void bert_adam_step(StepWriter& step, std::span<const std::int64_t> parameters,
                    const std::function<bool(std::int64_t elements)>& decays);

}  // namespace lockstep
