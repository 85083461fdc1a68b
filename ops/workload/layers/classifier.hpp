#pragma once

#include <cstdint>

#include "ops/workload/layers/transformer_block.hpp"

namespace lockstep {

struct ClassifierShape {
  std::int64_t classes = 0;
  bool indices_on_host = false;  ///< GPT-2: a list picks the last tokens' logits
  bool of_tokens = false;        ///< each is classified
};

/// The head of BertForSequenceClassification: BertPooler (dense layer and tanh of each sample's first token),
/// dropout, and a linear layer to the classes; or of GPT2ForSequenceClassification: a linear layer without
/// bias of every token, of which each sample's last one is taken; or of BertForTokenClassification and
/// GPT2ForTokenClassification: dropout and a linear layer of every token. *Source*: transformers
/// models/bert/modeling_bert.py, models/gpt2/modeling_gpt2.py.
void classifier_forward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head);
/// Up to the gradient of the last block's result (GPT-2: of the last normalisation's), which is zero but for
/// those tokens.
void classifier_backward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head,
                         GradientSink& gradients);

}  // namespace lockstep
