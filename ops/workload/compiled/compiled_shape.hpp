#pragma once

#include <cstdint>

#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/layers/transformer_block.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// All parts of a compiled transformer know this: its shapes and types, and the step that it is written to.
struct CompiledShape {
  StepWriter& step;
  const TransformerSpec& spec;
  BlockShape block;
  CrossEntropyShape loss;
  bool is_training;
  DataType model, products;  ///< in memory

  [[nodiscard]] bool stores_log_softmax() const {
    return step.framework().compiled_loss == CompiledLoss::Stored;
  }
  /// Hugging Face's: a norm of the embeddings, three products, a dense layer before the output.
  [[nodiscard]] bool is_bert() const { return block.kind == BlockKind::Bert; }
  [[nodiscard]] bool normalises_last() const { return !block.normalises_first(); }
  /// The part of an element of the model's type that an element of @p type is.
  [[nodiscard]] double part(DataType type) const { return size_of(type) / size_of(model); }
  /// Bytes of a dropout's mask by those of an element of @p type; 0 without dropout.
  [[nodiscard]] double mask_part(DataType type) const {
    return spec.dropout ? size_of(DataType::BOOL) / size_of(type) : 0;
  }
};

}  // namespace lockstep
