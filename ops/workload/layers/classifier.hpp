#pragma once

#include <cstdint>

#include "ops/workload/layers/transformer_block.hpp"

namespace lockstep {

/// The head of BertForSequenceClassification: BertPooler (dense layer and tanh of each sample's first token),
/// dropout, and a linear layer to @p classes. *Source*: transformers models/bert/modeling_bert.py.
void classifier_forward(StepWriter& step, const BlockShape& shape, std::int64_t classes);
/// Up to the gradient of the last block's result, which is zero but for the first tokens.
void classifier_backward(StepWriter& step, const BlockShape& shape, std::int64_t classes,
                         GradientSink& gradients);

}  // namespace lockstep
